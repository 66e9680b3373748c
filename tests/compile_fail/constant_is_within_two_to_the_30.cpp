// SPDX-License-Identifier: MIT
// expect: constant_is_within_two_to_the_30<2147483647>
// expect: what such numbers come to, is beyond +-2^30
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal && sliding_window(2147483647_c));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal && sliding_window(1073741824_c));
#endif
