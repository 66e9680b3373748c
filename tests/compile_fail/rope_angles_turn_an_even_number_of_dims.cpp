// SPDX-License-Identifier: MIT
// expect: rope_turns_pairs_within_head_dim
// expect: Fix: an even head_dim
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 63_c, position = rope_angles(input<"angles">));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 62_c, position = rope_angles(input<"angles">));
#endif
