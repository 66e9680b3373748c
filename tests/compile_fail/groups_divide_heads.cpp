// SPDX-License-Identifier: MIT
// expect: groups_divide_heads<32, 6>
// expect: 'heads' must be a multiple of 'groups'
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 32_c, groups = 6_c, head_dim = 128_c);
#else
inline constexpr auto v = variant(heads = 32_c, groups = 8_c, head_dim = 128_c);
#endif
