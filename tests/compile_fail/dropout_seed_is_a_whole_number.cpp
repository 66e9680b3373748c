// SPDX-License-Identifier: MIT
// expect: dropout_seed_is_a_whole_number<lookup<input_<
// expect: the seed must be a whole number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weight_factor = dropout(0.5, input<"seed">()));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weight_factor = dropout(0.5, input<"seed", i32>()));
#endif
