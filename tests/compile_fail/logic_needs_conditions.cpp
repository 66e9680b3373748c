// SPDX-License-Identifier: MIT
// expect: logic_needs_conditions<logical_and, q_pos_, node<less, kv_pos_, int_<4>>>
// expect: '&&', '||' and '!' combine conditions
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = q_pos && kv_pos < 4_c;
#else
inline constexpr auto m = q_pos > 0_c && kv_pos < 4_c;
#endif
