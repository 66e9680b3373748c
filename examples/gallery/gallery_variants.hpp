// SPDX-License-Identifier: MIT
//
// A page of attention variants as models use them. Each is one declaration; the build turns it into kernels.
#pragma once

#include <heed/heed.hpp>

namespace gallery {
using namespace heed;

/// Multi-head attention as in the original Transformer (Vaswani et al. 2017, section 3.2.2, base model).
inline constexpr auto mha = variant(heads = 8_c, head_dim = 64_c);

/// The same with the head size of most current models.
inline constexpr auto mha_128 = variant(heads = 8_c, head_dim = 128_c);

/// Decoder self-attention: no query sees a later key.
inline constexpr auto mha_causal = variant(heads = 8_c, head_dim = 64_c, mask = causal);

/// The 256 most recent keys (Beltagy et al. 2020, section 3.1; Mistral).
inline constexpr auto mha_window_256 = variant(heads = 8_c, head_dim = 64_c, mask = causal && sliding_window(256_c));

/// A window that keeps the first four tokens visible (Xiao et al. 2023, StreamingLLM).
inline constexpr auto window_first_tokens =
    variant(heads = 8_c, head_dim = 64_c, mask = causal && (sliding_window(128_c) || first_tokens(4_c)));

/// Grouped-query attention of LLaMA-2-70B (Ainslie et al. 2023): 64 query heads share 8 key/value heads.
inline constexpr auto gqa_64_8 = variant(heads = 64_c, groups = 8_c, head_dim = 128_c, mask = causal);

/// Multi-query attention (Shazeer 2019): all query heads share one key/value head.
inline constexpr auto mqa = variant(heads = 8_c, groups = 1_c, head_dim = 64_c, mask = causal);

/// A learned logit per head that takes part in the softmax's denominator only.
inline constexpr auto sink =
    variant(heads = 8_c, head_dim = 64_c, mask = causal, sink_logit = input<"sinks">[head]);

/// Scores bounded by a hyperbolic tangent (Gemma 2, section 2).
inline constexpr auto softcapped =
    variant(heads = 8_c, head_dim = 64_c, mask = causal, score_mod = softcap(score, 30.0));

/// A window and bounded scores together (the local layers of Gemma 2).
inline constexpr auto window_softcapped =
    variant(heads = 8_c, head_dim = 64_c, mask = causal && sliding_window(256_c), score_mod = softcap(score, 50.0));

/// Linear biases instead of positions (Press et al. 2022), for a number of heads that is not a power of two.
inline constexpr auto alibi_12 = variant(heads = 12_c, head_dim = 64_c, mask = causal, score_mod = alibi(12_c));

/// A batch of sequences of different lengths, padded to the longest.
inline constexpr auto padded_batch = variant(heads = 8_c, head_dim = 64_c, mask = padded);

/// Documents packed into one sequence: each token carries the number of its document and sees no other one.
inline constexpr auto documents =
    variant(heads = 8_c, head_dim = 64_c,
            mask = causal && input<"document", i32>(batch, q_pos) == input<"document", i32>(batch, kv_pos));

/// Attention from one sequence to another, with values longer than the keys.
inline constexpr auto cross = variant(heads = 8_c, head_dim = 64_c, value_dim = 96_c, align = top_left);

/// A formula of one's own: bias by a learned table of distances, cut off beyond 64 tokens.
inline constexpr auto relative_bias = variant(
    heads = 8_c, head_dim = 40_c, mask = abs(q_pos - kv_pos) <= 64,
    score_mod = score + input<"bias">(head, min(max(kv_pos - q_pos, -64), 64) + 64));

}  // namespace gallery
