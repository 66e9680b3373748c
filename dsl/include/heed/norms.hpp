// SPDX-License-Identifier: MIT
//
// Normalisations of rows, for `query_mod` and `key_mod`: QK-norm. Each is an ordinary expression of the row.
#pragma once

#include <heed/expression.hpp>

namespace heed {

/// The row divided by the root of its mean square (Zhang and Sennrich 2019): `query_mod = rms_norm(query, 1e-6) *
/// input<"query_norm">[dim]`, as in Qwen 3 and Gemma 3.
template <detail::RowTerminal Row>
constexpr auto rms_norm(Row row, double epsilon = 1e-6) {
    return row / sqrt(mean_over_dims(row * row) + epsilon);
}

/// The row with mean 0 and variance 1 (Dehghani et al. 2023, "Scaling vision transformers to 22 billion parameters",
/// section 2: layer normalisation of queries and keys).
template <detail::RowTerminal Row>
constexpr auto layer_norm(Row row, double epsilon = 1e-5) {
    const auto centred = row - mean_over_dims(row);
    // Not the mean square less the square of the mean: far from 0 the two share all digits.
    return centred / sqrt(mean_over_dims(centred * centred) + epsilon);
}

/// The row divided by its length, so that scores are cosines (Henry et al. 2020, "Query-key normalization for
/// transformers"); `size` is head_dim. Give `scale` a fixed temperature; a learned one is `score_mod =
/// scaled_by_head(score, input<"temperature">)` with `scale = 1.0`.
template <detail::RowTerminal Row, class Size>
constexpr auto unit_norm(Row row, Size size, double epsilon = 1e-12) {
    return row / sqrt(mean_over_dims(row * row) * size + epsilon);
}

}  // namespace heed
