// SPDX-License-Identifier: MIT
// expect: table_is_an_input_without_indices<lookup<
// expect: takes an input without indices
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = same(input<"document", i32>[batch]);
#else
inline constexpr auto m = same(input<"document", i32>);
#endif
