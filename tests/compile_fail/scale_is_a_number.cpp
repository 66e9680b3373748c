// SPDX-License-Identifier: MIT
// expect: scale_is_a_number<lookup<input_<
// expect: 'scale' must be a plain number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = input<"scale">());
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, score_mod = score * input<"scale">());
#endif
