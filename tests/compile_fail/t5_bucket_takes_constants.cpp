// SPDX-License-Identifier: MIT
// expect: t5_bucket_takes_constants<int_<32>, int, false>
// expect: must be compile-time constants
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + t5_bias(t5_causal_bucket(32_c, 128), input<"relative_bias">);
#else
inline constexpr auto s = score + t5_bias(t5_causal_bucket(32_c, 128_c), input<"relative_bias">);
#endif
