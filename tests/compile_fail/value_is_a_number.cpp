// SPDX-License-Identifier: MIT
// expect: value_is_a_number<query_mod_, node<less, query_, literal<double>>>
// expect: 'select(condition, a, b)' chooses between numbers
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = query < 1.0);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_mod = select(query < 1.0, query, 1.0));
#endif
