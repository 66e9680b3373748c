// SPDX-License-Identifier: MIT
// expect: position_is_a_scheme<double, false>
// expect: 'position' must be a scheme that turns queries and keys
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = 10'000.0);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, position = rope{10'000.0});
#endif
