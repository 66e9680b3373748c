// SPDX-License-Identifier: MIT
//
// One variant for each part of the language that kernels of devices compute in their own way: small, since the driver
// compiles them when they are first called.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

/// All keys; rows in fours.
inline constexpr auto dense = variant(heads = 2_c, head_dim = 8_c);

/// Rows that do not come in fours, values of another length, keys that no row sees.
inline constexpr auto odd =
    variant(heads = 6_c, groups = 2_c, head_dim = 13_c, value_dim = 7_c, mask = causal && kv_pos % 7 != 3);

/// Tiles are skipped by what an input holds.
inline constexpr auto documents =
    variant(heads = 1_c, head_dim = 4_c, align = top_left,
            mask = input<"document", i32>(batch, q_pos) == input<"document", i32>(batch, kv_pos));

/// Rows whose words are counted by a divisor that is no power of two.
inline constexpr auto turned = variant(heads = 2_c, groups = 1_c, head_dim = 12_c, value_dim = 48_c, mask = causal,
                                       position = rope{}, value_mod = value * 2.0);

/// Remainders of negative numbers, and by 0.
inline constexpr auto by_inputs =
    variant(heads = 2_c, head_dim = 4_c, mask = (q_pos - kv_pos) % input<"stride", i32>[head] != 1);

/// Remainders of negative numbers.
inline constexpr auto thirds = variant(heads = 1_c, head_dim = 4_c, mask = strided(3_c));

inline constexpr auto sink =
    variant(heads = 4_c, groups = 2_c, head_dim = 4_c, mask = causal, sink_logit = input<"sinks">[head]);

/// Queries, keys, values and results change on their way.
inline constexpr auto changed =
    variant(heads = 2_c, groups = 1_c, head_dim = 8_c, value_dim = 3_c, mask = causal && sliding_window(70_c),
            position = rope{}, query_mod = rms_norm(query), value_mod = value - mean_over_dims(value),
            output_mod = output[(dim + 1) % 3] / (sqrt(mean_over_dims(output * output)) + 1.0));

}  // namespace kernels
