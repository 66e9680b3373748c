// SPDX-License-Identifier: MIT
// expect: mask_is_a_condition<node<minus, q_pos_, kv_pos_>>
// expect: 'mask' must be a condition
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = q_pos - kv_pos);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = q_pos - kv_pos < 128_c);
#endif
