// SPDX-License-Identifier: MIT
// expect: remainder_needs_integers<modulo, score_, int_<2>>
// expect: '%' is the remainder of whole numbers
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score % 2_c;
#else
inline constexpr auto s = score + q_pos % 2_c;
#endif
