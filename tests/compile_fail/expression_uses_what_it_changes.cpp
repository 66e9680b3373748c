// SPDX-License-Identifier: MIT
// expect: expression_uses_what_it_changes<score_mod_, score_,
// expect: Fix: add to it or multiply it
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = alibi_bias(8_c));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = score + alibi_bias(8_c));
#endif
