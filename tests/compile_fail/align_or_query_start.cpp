// SPDX-License-Identifier: MIT
// expect: align_or_query_start<true, true>
// expect: both say where the queries start
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, align = top_left, query_start = 3_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_start = 3_c);
#endif
