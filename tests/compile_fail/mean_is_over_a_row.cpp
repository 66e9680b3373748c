// SPDX-License-Identifier: MIT
// expect: mean_is_over_a_row<score_mod_, node<minus, score_, row_mean<score_>>, true>
// expect: Fix: use it in query_mod, key_mod, value_mod or output_mod
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = score - mean_over_dims(score));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = query - mean_over_dims(query));
#endif
