// SPDX-License-Identifier: MIT
// expect: rope_theta_must_be_positive
// expect: Fix: give the model
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = rope{.theta = 0.0});
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = rope{.theta = 1.0});
#endif
