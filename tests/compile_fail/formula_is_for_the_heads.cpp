// SPDX-License-Identifier: MIT
// expect: formula_is_for_the_heads<8, 12>
// expect: a formula was made for another number of heads
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 12_c, head_dim = 64_c, score_mod = alibi(8_c));
#else
inline constexpr auto v = variant(heads = 12_c, head_dim = 64_c, score_mod = alibi(12_c));
#endif
