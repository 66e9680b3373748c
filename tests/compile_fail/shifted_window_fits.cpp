// SPDX-License-Identifier: MIT
// expect: shifted_window_fits<6, 3>
// expect: a window of 2 radius + 1 does not fit into the length
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = shifted_neighbourhood_2d(6_c, 8_c, 3_c, 3_c);
#else
inline constexpr auto m = shifted_neighbourhood_2d(7_c, 8_c, 3_c, 3_c);
#endif
