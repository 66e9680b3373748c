// SPDX-License-Identifier: MIT
// expect: value_is_an_expression<mask_, const char*, false>
// expect: the value of this key must be an expression
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = "causal");
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = causal);
#endif
