// SPDX-License-Identifier: MIT
// expect: index_is_an_integer<input_<
// expect: , 1, score_>
// expect: the index of an input must be a whole number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = input<"bias">(head, score);
#else
inline constexpr auto s = input<"bias">(head, q_pos);
#endif
