// SPDX-License-Identifier: MIT
// expect: sink_logit_does_not_depend_on_keys_or_queries<lookup<input_<
// expect: , kv_pos_>, true>
// expect: 'sink_logit' uses score, q_pos or kv_pos
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, sink_logit = input<"sinks">[kv_pos]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, sink_logit = input<"sinks">[head]);
#endif
