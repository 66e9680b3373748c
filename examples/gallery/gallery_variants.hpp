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

/// The attention of LLaMA-3-8B as it meets a cache whose keys are rotated already; then with heads of their own, and with
/// one for all, for what sharing saves.
inline constexpr auto gqa_32_8 = variant(heads = 32_c, groups = 8_c, head_dim = 128_c, mask = causal);
inline constexpr auto mha_32 = variant(heads = 32_c, head_dim = 128_c, mask = causal);
inline constexpr auto mqa_64 = variant(heads = 64_c, groups = 1_c, head_dim = 128_c, mask = causal);
inline constexpr auto mha_64 = variant(heads = 64_c, head_dim = 128_c, mask = causal);

/// Multi-query attention (Shazeer 2019): all query heads share one key/value head.
inline constexpr auto mqa = variant(heads = 8_c, groups = 1_c, head_dim = 64_c, mask = causal);

/// A learned logit per head that takes part in the softmax's denominator only.
inline constexpr auto sink = variant(heads = 8_c, head_dim = 64_c, mask = causal, sink_logit = input<"sinks">[head]);

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
inline constexpr auto relative_bias =
    variant(heads = 8_c, head_dim = 40_c, mask = abs(q_pos - kv_pos) <= 64,
            score_mod = score + input<"bias">(head, min(max(kv_pos - q_pos, -64), 64) + 64));

// Positions in queries and keys.

/// Rotary positions at their plainest (Su et al. 2021, section 3.2.2).
inline constexpr auto rope_causal = variant(heads = 8_c, head_dim = 64_c, mask = causal, position = rope{});

/// LLaMA 3.1 8B (Grattafiori et al. 2024, section 3.2 and table 3; frequencies from the published code).
inline constexpr auto llama3_8b = variant(heads = 32_c, groups = 8_c, head_dim = 128_c, mask = causal,
                                          position = rope{.theta = 500'000.0, .scaling = llama3_scaling()});

/// GPT-J 6B: neighbours make a pair, and 64 of 256 elements turn (Wang and Komatsuzaki 2021, "Mesh-Transformer-JAX").
inline constexpr auto gpt_j =
    variant(heads = 16_c, head_dim = 256_c, mask = causal, position = rope{.layout = interleaved, .dims = 64});

/// Qwen 3 8B: queries and keys are normalised before they turn (Yang et al. 2025, section 2).
inline constexpr auto qwen3_8b =
    variant(heads = 32_c, groups = 8_c, head_dim = 128_c, mask = causal, position = rope{.theta = 1'000'000.0},
            query_mod = rms_norm(query) * input<"query_norm">[dim], key_mod = rms_norm(key) * input<"key_norm">[dim]);

/// Qwen 2.5 7B stretched to four times its length by YaRN (Yang et al. 2024, section 3.3; Peng et al. 2023).
inline constexpr auto qwen2_5_7b =
    variant(heads = 28_c, groups = 4_c, head_dim = 128_c, mask = causal,
            position = rope{.theta = 1'000'000.0, .scaling = yarn_scaling(4.0, 32768.0)});

// Patterns of long sequences.

/// A prefix that sees itself, then text (Raffel et al. 2020, section 3.2.1; PaliGemma, Beyer et al. 2024, section 3.1).
inline constexpr auto prefix_decoder =
    variant(heads = 8_c, head_dim = 64_c, mask = prefix_lm(input<"prefix_len", i32>[batch]));

/// A window to both sides and marked tokens that see all (Beltagy et al. 2020, section 3.1; base model).
inline constexpr auto longformer =
    variant(heads = 12_c, head_dim = 64_c, mask = neighbourhood(256_c) || global_tokens(input<"is_global", i32>));

/// Blocks nearby, three random blocks for each, and two global blocks (Zaheer et al. 2020, section 2; base model).
inline constexpr auto bigbird =
    variant(heads = 12_c, head_dim = 64_c,
            mask = neighbouring_blocks(64_c, 1_c) || random_blocks(64_c, 3_c, input<"random_blocks", i32>, head) ||
                   global_tokens(128_c));

/// The fixed pattern with a stride of 128 and 8 summaries (Child et al. 2019, sections 4.3 and 7.3).
inline constexpr auto sparse_transformer = variant(heads = 8_c, head_dim = 64_c, mask = sparse_fixed(128_c, 8_c));

// Images.

/// Tokens of an image 32 wide, each with the 7 x 7 around it (Ramachandran et al. 2019, section 3.1).
inline constexpr auto image_neighbourhood =
    variant(heads = 8_c, head_dim = 32_c, mask = neighbourhood_2d(32_c, 3_c, 3_c));

/// Swin-T's first stage: shifted windows of 7 x 7 in an image 56 wide, with a learned bias for each offset (Liu et al.
/// 2021, section 3.2). Its windows move by 3, so the first of them lack 4 rows and columns.
inline constexpr auto swin_shifted = variant(heads = 3_c, head_dim = 32_c, mask = windows_2d(56_c, 7_c, 7_c, 4_c, 4_c),
                                             score_mod = score + image_bias(56_c, 6_c, 6_c, input<"relative_bias">));

// Other scores and weights.

/// T5's encoder: no scale, a learned bias for each bucket of distances (Raffel et al. 2020, section 2.1; base model).
inline constexpr auto t5_encoder =
    variant(heads = 12_c, head_dim = 64_c, scale = 1.0, mask = padded,
            score_mod = score + t5_bias(t5_bidirectional_bucket(), input<"relative_bias">));

/// Each key weighs for itself (Ramapuram et al. 2024, section 2).
inline constexpr auto sigmoid_attention =
    variant(heads = 8_c, head_dim = 64_c, mask = causal, score_mod = score - log(kv_len), weights = sigmoid);

/// A row may attend to nothing (Miller 2023, "Attention is off by one").
inline constexpr auto off_by_one = variant(heads = 8_c, head_dim = 64_c, mask = causal, weights = softmax1);

/// Results pass a gate that the query's token decides on (Qiu et al. 2025, "Gated attention for large language models",
/// section 2.2, gate after the attention).
inline constexpr auto gated = variant(heads = 8_c, head_dim = 64_c, mask = causal,
                                      output_mod = output / (exp(-input<"gate">(batch, head, q_row, dim)) + 1.0));

/// Training of an encoder: a tenth of the weights is dropped (Vaswani et al. 2017, section 5.4; BERT base).
inline constexpr auto encoder_dropout =
    variant(heads = 12_c, head_dim = 64_c, mask = padded, weight_factor = dropout(0.1, input<"seed", i32>()));

// Values of another length than keys.

/// Multi-head latent attention of DeepSeek-V2-Lite as it is trained: 128 + 64 rotary elements of keys, values of 128
/// (DeepSeek-AI 2024, section 2.1).
inline constexpr auto mla = variant(heads = 16_c, head_dim = 192_c, value_dim = 128_c, mask = causal);

/// The same with the projections of keys and values moved to queries and results, so that all heads share the latent
/// vector that the cache holds (section 2.1.2): keys of 512 + 64, scaled as before.
inline constexpr auto mla_latent = variant(heads = 16_c, groups = 1_c, head_dim = 576_c, value_dim = 512_c,
                                           scale = 0.07216878364870322, mask = causal);

}  // namespace gallery
