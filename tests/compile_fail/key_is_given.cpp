// SPDX-License-Identifier: MIT
// expect: key_is_given<head_dim_, false>
// expect: a required key is missing
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, mask = causal);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal);
#endif
