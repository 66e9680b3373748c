// SPDX-License-Identifier: MIT
// expect: argument_is_a_key_with_a_value<node<greater_equal, q_pos_, kv_pos_>>
// expect: not of the form 'key = value'
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, causal);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal);
#endif
