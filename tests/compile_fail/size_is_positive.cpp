// SPDX-License-Identifier: MIT
// expect: size_is_positive<value_dim_, 0>
// expect: a size must be at least 1
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, value_dim = 0_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, value_dim = 1_c);
#endif
