// SPDX-License-Identifier: MIT
// expect: one_input_one_type<input_<
// expect: an input is used with two types
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = kv_pos < input<"x", i32>[head];
#else
inline constexpr auto m = kv_pos < input<"length", i32>[head];
#endif
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = m, score_mod = score + input<"x">[head]);
