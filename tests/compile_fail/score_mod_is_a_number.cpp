// SPDX-License-Identifier: MIT
// expect: score_mod_is_a_number<node<greater_equal, q_pos_, kv_pos_>>
// expect: 'score_mod' must be a number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = causal);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal);
#endif
