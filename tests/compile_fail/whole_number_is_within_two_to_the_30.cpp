// SPDX-License-Identifier: MIT
// expect: whole_number_is_within_two_to_the_30
// expect: a whole number in an expression is beyond +-2^30
// expect: Fix: a smaller number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal && sliding_window(5000000000));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal && sliding_window(500));
#endif
