// SPDX-License-Identifier: MIT
// expect: row_index_is_an_integer<query_, node<divide
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = query[dim / 2.0]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = query[dim / 2]);
#endif
