// SPDX-License-Identifier: MIT
// expect: sink_logit_is_a_number<node<less, head_, int_<4>>>
// expect: 'sink_logit' must be a number
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, sink_logit = head < 4_c);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, sink_logit = select(head < 4_c, 0.0, 1.0));
#endif
