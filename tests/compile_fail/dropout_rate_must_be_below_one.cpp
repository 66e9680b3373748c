// SPDX-License-Identifier: MIT
// expect: dropout_rate_must_be_below_one
// expect: the rate must be at least 0 and below 1
// expect: Fix: give a part
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weight_factor = dropout(1.0, input<"seed", i32>()));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weight_factor = dropout(0.5, input<"seed", i32>()));
#endif
