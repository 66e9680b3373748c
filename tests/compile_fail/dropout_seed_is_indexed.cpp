// SPDX-License-Identifier: MIT
// expect: input_is_indexed
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weight_factor = dropout(0.5, input<"seed", i32>));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weight_factor = dropout(0.5, input<"seed", i32>()));
#endif
