// SPDX-License-Identifier: MIT
// expect: one_input_one_rank<input_<
// expect: , 1, input_<
// expect: , 2>
// expect: an input is used with different numbers of indices
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score * input<"x">[head] + input<"x">(head, q_pos);
#else
inline constexpr auto s = score * input<"x">[head] + input<"y">(head, q_pos);
#endif
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = s);
