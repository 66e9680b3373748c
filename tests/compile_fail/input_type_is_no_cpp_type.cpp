// SPDX-License-Identifier: MIT
// expect: input_type_is_f32_or_i32<int>
// expect: the type of an input must be f32 or i32
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = q_pos - kv_pos < input<"a", int>[head]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = q_pos - kv_pos < input<"a", i32>[head]);
#endif
