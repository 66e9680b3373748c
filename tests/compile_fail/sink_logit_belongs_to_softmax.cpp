// SPDX-License-Identifier: MIT
// expect: sink_logit_belongs_to_softmax<true, true>
// expect: 'weights' is a formula that is not divided by anything
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weights = sigmoid, sink_logit = input<"sinks">[head]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, weights = softmax, sink_logit = input<"sinks">[head]);
#endif
