// SPDX-License-Identifier: MIT
//
// Variants under test for the words of masks.hpp, scores.hpp and relative_positions.hpp: a mask and a score each, so
// that fewer kernels are to be built.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

// Along the sequence.
inline constexpr auto dilated = variant(heads = 1_c, head_dim = 4_c, mask = causal && dilated_window(5_c, 3_c),
                                        score_mod = temperature(score, 2.5));
inline constexpr auto near =
    variant(heads = 2_c, head_dim = 4_c, mask = neighbourhood(17_c), score_mod = scaled_by_head(score, input<"gain">));
inline constexpr auto with_prefix =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = prefix_lm(input<"prefix", i32>[batch]),
            score_mod = scaled_by_log_length(score, input<"s">[head]));
inline constexpr auto every_fifth =
    variant(heads = 1_c, head_dim = 4_c, mask = strided(5_c), score_mod = scaled_by_log_position(score, 16_c, 0.5));
inline constexpr auto sparse_by_stride =
    variant(heads = 2_c, head_dim = 4_c, mask = sparse_strided(7_c),
            score_mod = score + kerple_log_bias(input<"r1">[head], input<"r2">[head]));
inline constexpr auto ends_of_blocks = variant(heads = 3_c, groups = 1_c, head_dim = 4_c, mask = block_ends(16_c, 3_c),
                                               score_mod = softcap(score, 5.0) + alibi_bias(3_c));
inline constexpr auto sparse_by_blocks =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, scale = 1.0, mask = sparse_fixed(16_c, 3_c),
            score_mod = score + t5_bias(t5_causal_bucket(), input<"table">));
inline constexpr auto in_blocks = variant(heads = 2_c, groups = 1_c, head_dim = 4_c, scale = 1.0, mask = blocks(150_c),
                                          score_mod = score + t5_bias(t5_bidirectional_bucket(), input<"table">));
inline constexpr auto near_blocks = variant(heads = 2_c, head_dim = 4_c, mask = neighbouring_blocks(16_c, 1_c),
                                            score_mod = score + clipped_bias(9_c, input<"table">));

// Widths that come with the call.
inline constexpr auto window_of_call =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c,
            mask = causal && (sliding_window(input<"window", i32>()) || first_tokens(input<"first", i32>[head])));
inline constexpr auto dilated_of_call = variant(
    heads = 1_c, head_dim = 4_c, mask = causal && dilated_window(input<"width", i32>(), input<"dilation", i32>()));
inline constexpr auto near_of_call =
    variant(heads = 1_c, head_dim = 4_c, mask = neighbourhood(input<"radius", i32>[batch]));
inline constexpr auto padded_causal = variant(heads = 1_c, head_dim = 4_c, mask = causal && padded);
inline constexpr auto with_global =
    variant(heads = 1_c, head_dim = 4_c, mask = neighbourhood(8_c) || global_tokens(input<"count", i32>()));

// By tables.
inline constexpr auto listed_blocks =
    variant(heads = 2_c, head_dim = 4_c, mask = random_blocks(16_c, 3_c, input<"listed", i32>, head));
inline constexpr auto marked =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = marked_blocks(16_c, input<"layout", i32>, batch));
inline constexpr auto same_causal =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = causal && same(input<"document", i32>));
inline constexpr auto keys_marked = variant(heads = 1_c, head_dim = 4_c, mask = marked_keys(input<"seen", i32>));
inline constexpr auto first_are_global =
    variant(heads = 1_c, head_dim = 4_c, mask = neighbourhood(8_c) || global_tokens(3_c));
inline constexpr auto some_are_global =
    variant(heads = 1_c, head_dim = 4_c, mask = neighbourhood(8_c) || global_tokens(input<"global", i32>));
inline constexpr auto left_padded = variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = causal && padded_left);
inline constexpr auto both_padded =
    variant(heads = 1_c, head_dim = 4_c, align = top_left, mask = padded && padded_queries);

// Images and video.
inline constexpr auto image = variant(heads = 2_c, head_dim = 4_c, mask = neighbourhood_2d(11_c, 2_c, 3_c),
                                      score_mod = score + image_bias(11_c, 2_c, 3_c, input<"table">));
inline constexpr auto video = variant(heads = 1_c, head_dim = 4_c, mask = neighbourhood_3d(4_c, 5_c, 1_c, 2_c, 1_c));
inline constexpr auto shifted_line = variant(heads = 1_c, head_dim = 4_c, mask = shifted_neighbourhood(100_c, 6_c));
inline constexpr auto shifted_image =
    variant(heads = 1_c, head_dim = 4_c, mask = shifted_neighbourhood_2d(8_c, 12_c, 2_c, 1_c));
inline constexpr auto shifted_video =
    variant(heads = 1_c, head_dim = 4_c, mask = shifted_neighbourhood_3d(3_c, 5_c, 7_c, 1_c, 2_c, 1_c));
inline constexpr auto shifted_windows =
    variant(heads = 2_c, head_dim = 4_c, mask = windows_2d(14_c, 4_c, 4_c, 2_c, 1_c),
            score_mod = score + image_bias(14_c, 3_c, 3_c, input<"table">));
inline constexpr auto one_window =
    variant(heads = 2_c, head_dim = 4_c, score_mod = score + swin_bias(5_c, 6_c, input<"table">));

// Tables that tell which tiles to skip.
inline constexpr auto same_real = variant(heads = 2_c, groups = 1_c, head_dim = 4_c, align = top_left,
                                          mask = input<"label">(batch, q_pos) == input<"label">(batch, kv_pos));
inline constexpr auto earlier =
    variant(heads = 1_c, head_dim = 4_c, mask = input<"time">(batch, kv_pos) <= input<"now">(batch, q_row));
inline constexpr auto reach_by_row = variant(
    heads = 4_c, groups = 2_c, head_dim = 4_c,
    mask = kv_pos >= input<"first", i32>(batch, head, q_row) && kv_pos < input<"last", i32>(batch, head, q_row));
inline constexpr auto kinds = variant(heads = 1_c, head_dim = 4_c,
                                      mask = input<"kind", i32>[input<"key_token", i32>(batch, kv_pos)] ==
                                             input<"kind", i32>[input<"query_token", i32>(batch, q_row)]);

}  // namespace kernels
