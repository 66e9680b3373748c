// SPDX-License-Identifier: MIT
// expect: alibi_takes_the_number_of_heads<int, false>
// expect: the number of heads must be a positive compile-time constant
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = alibi(12);
#else
inline constexpr auto s = alibi(12_c);
#endif
