// SPDX-License-Identifier: MIT
// expect: size_of_a_mask_is_positive<0>
// expect: must be at least 1
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = causal && blocks(0_c);
#else
inline constexpr auto m = causal && blocks(1_c);
#endif
