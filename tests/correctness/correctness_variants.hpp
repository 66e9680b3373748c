// SPDX-License-Identifier: MIT
//
// The variants under test: small, so that they build fast, and odd, so that they break what assumes round sizes. The
// numbers of heads per group are 1, 2, 4, 5, 6, 7 and 8; every file of tests says which it uses.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

/// All keys; heads of their own.
inline constexpr auto dense = variant(heads = 2_c, head_dim = 8_c);

// Sizes.
inline constexpr auto dim_1 = variant(heads = 5_c, groups = 1_c, head_dim = 1_c, value_dim = 3_c, mask = causal);
inline constexpr auto dim_31 = variant(heads = 12_c, groups = 2_c, head_dim = 31_c, value_dim = 40_c);
inline constexpr auto dim_40 = variant(heads = 7_c, groups = 1_c, head_dim = 40_c, value_dim = 31_c, mask = causal);
inline constexpr auto dim_96 = variant(heads = 16_c, groups = 2_c, head_dim = 96_c, value_dim = 1_c, scale = 0.25);

// Masks.
inline constexpr auto window = variant(heads = 1_c, head_dim = 4_c, mask = causal && sliding_window(20_c));
inline constexpr auto window_first =
    variant(heads = 4_c, groups = 2_c, head_dim = 4_c, mask = causal && (sliding_window(20_c) || first_tokens(3_c)));
inline constexpr auto ragged = variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = padded && causal,
                                       query_start = input<"start", i32>[batch]);

// Masks of the user's own.
inline constexpr auto holes = variant(heads = 1_c, head_dim = 4_c, mask = kv_pos % 7 != 3);
inline constexpr auto blocks = variant(heads = 2_c, groups = 1_c, head_dim = 4_c,
                                       mask = q_pos / 16 == kv_pos / 16 || !(kv_pos != 5 && kv_pos + q_pos >= 9));
inline constexpr auto documents =
    variant(heads = 1_c, head_dim = 4_c, align = top_left,
            mask = input<"document", i32>(batch, q_pos) == input<"document", i32>(batch, kv_pos));
inline constexpr auto by_number =
    variant(heads = 4_c, head_dim = 4_c, mask = !(kv_pos * input<"rate">[head] < input<"limit">()));
inline constexpr auto by_head =
    variant(heads = 8_c, groups = 2_c, head_dim = 4_c, mask = select(head % 2 == 0, causal, q_pos <= kv_pos));
inline constexpr auto chosen = variant(
    heads = 2_c, head_dim = 2_c, align = top_left,
    mask = causal && select(kv_pos < input<"reach", i32>(batch, kv_pos), kv_pos % 3 == 0, batch < min(1, kv_pos)),
    score_mod = score * input<"sharpness">() + input<"offset", i32>[head]);
inline constexpr auto later =
    variant(heads = 4_c, groups = 2_c, head_dim = 2_c, align = top_left, mask = kv_pos >= q_pos);

// Scores.
inline constexpr auto capped =
    variant(heads = 2_c, head_dim = 8_c, align = top_left, mask = causal, score_mod = softcap(score, 2.0));
inline constexpr auto sloped =
    variant(heads = 6_c, groups = 2_c, head_dim = 4_c, mask = causal, score_mod = alibi(6_c));
inline constexpr auto clipped =
    variant(heads = 2_c, groups = 1_c, head_dim = 4_c, mask = causal, score_mod = max(-0.5, min(score, 0.75)));
inline constexpr auto biased = variant(heads = 2_c, groups = 1_c, head_dim = 4_c, align = top_left,
                                       score_mod = score + input<"bias">(batch, head, q_pos, kv_pos));
inline constexpr auto sink =
    variant(heads = 4_c, groups = 2_c, head_dim = 4_c, scale = 0.125, mask = causal, sink_logit = input<"sinks">[head]);

// What compilers of kernels have been seen to get wrong.
inline constexpr auto thirds = variant(heads = 4_c, groups = 2_c, head_dim = 4_c, mask = strided(3_c));
inline constexpr auto not_thirds = variant(heads = 1_c, head_dim = 4_c, mask = (q_pos - kv_pos) % 12_c != 1);
inline constexpr auto from_start = variant(
    heads = 2_c, groups = 1_c, head_dim = 4_c,
    mask = kv_pos >= input<"start", i32>[q_row] && kv_pos < input<"start", i32>[q_row] + input<"length", i32>[q_row]);
inline constexpr auto real_blocks =
    variant(heads = 1_c, head_dim = 4_c, align = top_left, mask = floor(q_pos / 41.0) == floor(kv_pos / 41.0));
inline constexpr auto nan_replaced =
    variant(heads = 2_c, head_dim = 4_c, score_mod = select(score == score, score, -3.0));
inline constexpr auto nan_unordered =
    variant(heads = 2_c, head_dim = 4_c, score_mod = select(score > -1e30 || score <= -1e30, score, -3.0));
inline constexpr auto any_weight =
    variant(heads = 2_c, head_dim = 4_c, mask = causal, weights = select(score < -1000.0, 1.0, 2.0),
            score_mod = score + input<"bias">[kv_pos]);
inline constexpr auto no_tile_reads =
    variant(heads = 2_c, head_dim = 4_c, align = top_left,
            mask = q_pos / 2_c > input<"a", i32>(batch, q_row) && q_pos > input<"d", i32>() &&
                   (min(kv_pos, 50_c) > input<"b", i32>(batch, kv_pos) || kv_pos > input<"d", i32>()));

}  // namespace kernels
