// SPDX-License-Identifier: MIT
// expect: constant_is_within_two_to_the_30<4000000000000>
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = q_pos - kv_pos < 2000000_c * 2000000_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = q_pos - kv_pos < 2000_c * 2000_c);
#endif
