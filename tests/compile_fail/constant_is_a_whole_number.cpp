// SPDX-License-Identifier: MIT
// expect: constant_is_a_whole_number<false, '0', '.', '5'>
// expect: '_c' takes decimal or hexadecimal whole numbers
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score * 0.5_c;
#else
inline constexpr auto s = score * 0.5;
#endif
