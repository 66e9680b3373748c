// SPDX-License-Identifier: MIT
// expect: select_chooses_by_a_condition<kv_pos_, literal<double>, literal<double>>
// expect: needs a condition first
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = select(kv_pos, 1.0, 0.5);
#else
inline constexpr auto s = select(kv_pos < 4_c, 1.0, 0.5);
#endif
