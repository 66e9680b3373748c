// SPDX-License-Identifier: MIT
// expect: key_is_given_once<mask_, 2>
// expect: a key is given more than once
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal, mask = padded);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal && padded);
#endif
