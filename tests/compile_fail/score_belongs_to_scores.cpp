// SPDX-License-Identifier: MIT
// expect: key_may_use_the_terminal<query_mod_, score_, false>
// expect: 'score' to score_mod and weights
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = query * score);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = query * 2.0);
#endif
