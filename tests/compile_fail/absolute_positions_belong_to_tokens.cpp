// SPDX-License-Identifier: MIT
// expect: absolute_positions_belong_to_tokens<absolute_positions_, true>
// expect: they are added to the tokens before queries, keys and values are projected
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = sinusoidal_positions);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = rope{});
#endif
