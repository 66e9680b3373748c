// SPDX-License-Identifier: MIT
// expect: scale_must_be_a_finite_number
// expect: Fix: give a finite number
#include <heed/heed.hpp>

#include <limits>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = std::numeric_limits<double>::infinity());
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = std::numeric_limits<float>::max());
#endif
