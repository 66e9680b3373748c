// SPDX-License-Identifier: MIT
// expect: expression_uses_what_it_changes<value_mod_, value_,
// expect: Fix: add to it or multiply it
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, value_mod = input<"gain">[dim]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, value_mod = value * input<"gain">[dim]);
#endif
