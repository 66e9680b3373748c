// SPDX-License-Identifier: MIT
// expect: t5_buckets_can_be_spaced<32, 8, 4>
// expect: these buckets cannot be spaced
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto bucket = t5_bidirectional_bucket(32_c, 8_c);
#else
inline constexpr auto bucket = t5_bidirectional_bucket(32_c, 9_c);
#endif
