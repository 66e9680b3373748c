// SPDX-License-Identifier: MIT
// expect: align_is_top_left_or_bottom_right<int_<0>, false>
// expect: 'align' must be top_left or bottom_right
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, align = 0_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, align = top_left);
#endif
