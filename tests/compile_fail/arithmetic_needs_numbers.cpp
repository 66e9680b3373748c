// SPDX-License-Identifier: MIT
// expect: arithmetic_needs_numbers<plus, score_, node<greater_equal, q_pos_, kv_pos_>>
// expect: arithmetic needs numbers, but an operand is a condition
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + causal;
#else
inline constexpr auto s = score + select(causal, 1.0, 0.0);
#endif
