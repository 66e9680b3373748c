// SPDX-License-Identifier: MIT
// expect: query_start_is_an_integer<lookup<input_<
// expect: 'query_start' must be a whole number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_start = input<"start">[batch]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_start = input<"start", i32>[batch]);
#endif
