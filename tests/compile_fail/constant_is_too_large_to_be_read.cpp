// SPDX-License-Identifier: MIT
// expect: constant_is_within_two_to_the_30<9223372036854775807>
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = kv_pos < 99999999999999999999_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = kv_pos < 9_c);
#endif
