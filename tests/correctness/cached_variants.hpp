// SPDX-License-Identifier: MIT
//
// Variants under test that are compiled for caches.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

inline constexpr auto in_cache = variant(heads = 6_c, groups = 2_c, head_dim = 16_c, mask = causal);
inline constexpr auto in_cache_changed =
    variant(heads = 4_c, groups = 2_c, head_dim = 40_c, value_dim = 24_c,
            mask = causal && (sliding_window(20_c) || first_tokens(4_c)), position = rope{}, query_mod = query * 0.5,
            key_mod = key * input<"key_gain">(group, dim), value_mod = value * 2.0 + (kv_pos + batch) % 3);
inline constexpr auto in_cache_documents =
    variant(heads = 2_c, head_dim = 8_c,
            mask = causal && input<"document", i32>(batch, q_pos) == input<"document", i32>(batch, kv_pos));
inline constexpr auto in_cache_sink = variant(heads = 2_c, groups = 1_c, head_dim = 128_c,
                                              score_mod = softcap(score, 5.0), sink_logit = input<"sinks">[head]);
inline constexpr auto in_cache_sigmoid = variant(heads = 2_c, head_dim = 8_c, mask = causal, weights = sigmoid);

}  // namespace kernels
