// SPDX-License-Identifier: MIT
// expect: query_start_depends_on_batch_only<lookup<input_<
// expect: , head_>, true>
// expect: 'query_start' uses score, q_pos, kv_pos or head
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_start = input<"start", i32>[head]);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, query_start = input<"start", i32>[batch]);
#endif
