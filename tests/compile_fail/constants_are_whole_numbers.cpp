// SPDX-License-Identifier: MIT
// expect: '_c' takes whole numbers
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score * 0.5_c;
#else
inline constexpr auto s = score * 0.5;
#endif
