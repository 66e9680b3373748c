// SPDX-License-Identifier: MIT
// expect: rope_scaling_must_be_positive
// expect: Fix: yarn_scaling(factor, original_length)
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = rope{.scaling = yarn_scaling(8, 0)});
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = rope{.scaling = yarn_scaling(8, 4096)});
#endif
