// SPDX-License-Identifier: MIT
//
// Variants under test that change rows, turn them by position, or weigh scores by something else than a softmax.
// Small and odd, as those of correctness_variants.hpp.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

// Positions.
inline constexpr auto rope_half = variant(heads = 4_c, groups = 2_c, head_dim = 8_c, mask = causal, position = rope{});
inline constexpr auto rope_pairs =
    variant(heads = 2_c, head_dim = 6_c, position = rope{.theta = 100.0, .layout = interleaved});
inline constexpr auto rope_partial =
    variant(heads = 2_c, groups = 1_c, head_dim = 13_c, mask = causal, position = rope{.theta = 1000.0, .dims = 6});
inline constexpr auto rope_partial_pairs = variant(heads = 2_c, head_dim = 10_c, value_dim = 3_c, mask = causal,
                                                   position = rope{.layout = interleaved, .dims = 4});
inline constexpr auto rope_linear =
    variant(heads = 1_c, head_dim = 16_c, position = rope{.scaling = linear_scaling(4.0)});
inline constexpr auto rope_ntk = variant(heads = 1_c, head_dim = 16_c, position = rope{.scaling = ntk_scaling(8.0)});
inline constexpr auto rope_yarn =
    variant(heads = 1_c, head_dim = 32_c, position = rope{.scaling = yarn_scaling(16.0, 512.0)});
inline constexpr auto rope_llama3 =
    variant(heads = 1_c, head_dim = 32_c, position = rope{.theta = 500'000.0, .scaling = llama3_scaling()});
inline constexpr auto rope_far =
    variant(heads = 2_c, groups = 1_c, head_dim = 16_c, position = rope{}, query_start = input<"start", i32>[batch]);
inline constexpr auto rope_by_table =
    variant(heads = 2_c, groups = 1_c, head_dim = 6_c, mask = causal, position = rope_angles(input<"angles">));
inline constexpr auto rope_by_table_pairs =
    variant(heads = 2_c, head_dim = 4_c, align = top_left, position = rope_angles(input<"angles">, interleaved));

// Modifications of rows.
inline constexpr auto query_changed =
    variant(heads = 4_c, groups = 2_c, head_dim = 5_c, align = top_left, mask = causal,
            query_mod = query * input<"gain">(head, dim) + input<"shift">(batch, q_pos) - input<"step", i32>[q_row]);
inline constexpr auto key_changed =
    variant(heads = 6_c, groups = 3_c, head_dim = 5_c, mask = causal,
            key_mod = key * input<"gain">(group, kv_pos, dim) - input<"shift">() + group);
inline constexpr auto value_changed =
    variant(heads = 4_c, groups = 2_c, head_dim = 4_c, value_dim = 7_c, mask = kv_pos % 7 != 3,
            value_mod = value * input<"gain">[group] + input<"shift", i32>(batch, kv_pos, dim));
inline constexpr auto output_changed =
    variant(heads = 4_c, groups = 2_c, head_dim = 4_c, value_dim = 3_c, mask = causal,
            output_mod = output * input<"gate">(batch, head, q_row, dim) + 0.5);
inline constexpr auto all_changed =
    variant(heads = 2_c, groups = 1_c, head_dim = 5_c, value_dim = 3_c, mask = causal, query_mod = query[4 - dim] * 2.0,
            key_mod = select(dim < 2, key[dim + 1], key[dim - 2] * key), value_mod = value - mean_over_dims(value),
            output_mod = output[(dim + 1) % 3] / (sqrt(mean_over_dims(output * output)) + 1.0));
inline constexpr auto beyond_the_row =
    variant(heads = 1_c, head_dim = 4_c, query_mod = query[dim + 2], key_mod = key[dim - 1]);

// Norms of queries and keys.
inline constexpr auto rms_normed =
    variant(heads = 4_c, groups = 2_c, head_dim = 8_c, mask = causal, position = rope{.theta = 1e6},
            query_mod = rms_norm(query) * input<"query_norm">[dim], key_mod = rms_norm(key) * input<"key_norm">[dim]);
// Their means are nested, and the rotation asks for them at two elements.
inline constexpr auto layer_normed =
    variant(heads = 2_c, head_dim = 8_c, position = rope{},
            query_mod = layer_norm(query) * input<"query_gain">[dim] + input<"query_bias">[dim],
            key_mod = layer_norm(key) * input<"key_gain">[dim] + input<"key_bias">[dim]);
inline constexpr auto unit_normed =
    variant(heads = 2_c, groups = 1_c, head_dim = 9_c, scale = 1.0, query_mod = unit_norm(query, 9_c),
            key_mod = unit_norm(key, 9_c), score_mod = scaled_by_head(score, input<"temperature">));

// Weights.
inline constexpr auto sigmoids = variant(heads = 2_c, head_dim = 8_c, mask = causal, weights = sigmoid);
inline constexpr auto sigmoids_shifted = variant(heads = 4_c, groups = 2_c, head_dim = 4_c, value_dim = 3_c,
                                                 score_mod = score - log(kv_len), weights = sigmoid);
inline constexpr auto squared_relus =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = causal && sliding_window(20_c), weights = relu_squared);
inline constexpr auto off_by_one =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = causal, weights = softmax1);
inline constexpr auto own_weights =
    variant(heads = 3_c, groups = 1_c, head_dim = 4_c, mask = causal && kv_pos % 5 != 2,
            score_mod = score + input<"bias">(head, kv_pos), weights = 1.0 / (score * score + 1.0) + 0.5);

// Factors of weights.
inline constexpr auto dropped = variant(heads = 4_c, groups = 2_c, head_dim = 4_c, mask = causal,
                                        weight_factor = dropout(0.25, input<"seed", i32>()));
inline constexpr auto dropped_by_half =
    variant(heads = 2_c, head_dim = 2_c, weight_factor = dropout(0.5, input<"seed", i32>[batch]));
inline constexpr auto factored = variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = kv_pos % 7 != 3,
                                         weights = sigmoid, weight_factor = input<"factor">(head, q_row, kv_pos));

}  // namespace kernels
