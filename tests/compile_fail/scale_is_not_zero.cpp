// SPDX-License-Identifier: MIT
// expect: scale_must_not_be_zero
// expect: Fix: write scale = 1.0 / 8
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = 1 / 8);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = 1.0 / 8);
#endif
