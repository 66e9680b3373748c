// SPDX-License-Identifier: MIT
// expect: alibi_is_the_whole_score<score_, node<minus, score_
// expect: 'alibi(heads)' is the whole score
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + alibi(12_c);
#else
inline constexpr auto s = score + alibi_bias(12_c);
#endif
