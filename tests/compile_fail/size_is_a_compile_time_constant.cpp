// SPDX-License-Identifier: MIT
// expect: size_is_a_compile_time_constant<heads_, int, false>
// expect: '8_c' instead of '8'
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8, head_dim = 64_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c);
#endif
