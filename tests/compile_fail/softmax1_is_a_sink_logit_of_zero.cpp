// SPDX-License-Identifier: MIT
// expect: softmax1_is_a_sink_logit_of_zero<true, true>
// expect: 'weights = softmax1' is 'sink_logit = 0.0'
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weights = softmax1, sink_logit = input<"sinks">[head]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weights = softmax1);
#endif
