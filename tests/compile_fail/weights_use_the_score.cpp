// SPDX-License-Identifier: MIT
// expect: expression_uses_what_it_changes<weights_, score_,
// expect: Fix: add to it or multiply it
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weights = 1.0 / kv_len);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weights = exp(score) / kv_len);
#endif
