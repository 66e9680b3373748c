// SPDX-License-Identifier: MIT
// expect: number_of_slots_is_a_constant<int, false>
// expect: the number of slots must be a compile-time constant
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto m = random_blocks(64_c, 3, input<"blocks", i32>);
#else
inline constexpr auto m = random_blocks(64_c, 3_c, input<"blocks", i32>);
#endif
