// SPDX-License-Identifier: MIT
// expect: mask_does_not_use_score<node<greater, score_, literal<double>>, true>
// expect: 'mask' uses 'score'
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = score > 0.0);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = max(score, 0.0));
#endif
