// SPDX-License-Identifier: MIT
// expect: comparison_needs_numbers<less, node<less_equal, int_<2>, kv_pos_>, int_<8>>
// expect: 'a < b && b < c' for 'a < b < c'
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = 2_c <= kv_pos < 8_c;
#else
inline constexpr auto m = 2_c <= kv_pos && kv_pos < 8_c;
#endif
