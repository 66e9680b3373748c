// SPDX-License-Identifier: MIT
//
// The oracle: attention in double precision, straight from the definition. It reads the declaration pair by pair
// through `attends` and `modified_score` and shares no algorithm with the kernels: no tiles, no running maximum, no
// range reading.
#pragma once

#include <cstdint>
#include <vector>

#include "problem.hpp"

namespace heed::runner {

struct row_address {
    std::int64_t batch, head, row;
};

/// What some rows of a call must give.
struct expectation {
    computed what = computed::output;
    std::vector<row_address> rows;
    std::int64_t columns = 0;
    std::vector<double> values;       ///< `columns` per row: value_dim outputs or kv_len weights
    std::vector<double> log_sum_exp;  ///< natural; -inf for a row without a visible key
    /// Magnitude of a row's scores, the mean under the weights of its keys. Of one score: the largest of |score| before
    /// and after score_mod and of scale * |query| * |key| / sqrt(head_dim), the typical partial sum of the product. One
    /// f32 rounding of such a sum changes the result by 2^-24 of this. For weights at least the magnitude of the
    /// largest one's.
    std::vector<double> score_magnitude;
    double largest = 0.0;  ///< largest |value|
    /// Of outputs that are not modified, the largest of a row's means of |value| under its weights. Where one key that
    /// weighs much meets others of the opposite sign, it is larger than any output, and so are the errors of weights.
    std::vector<double> value_magnitude;
};

/// At most `pair_limit` pairs (query, key) are computed: beyond, heads and rows are sampled, always with the first and
/// last ones and the neighbours of the multiples of `row_tile`.
std::vector<row_address> choose_rows(const problem &of, std::int64_t row_tile, std::int64_t pair_limit);

expectation expect(const problem &of, std::vector<row_address> rows, computed what = computed::output);

/// Whether `key` is visible to the query of `address`.
bool sees(const problem &of, const row_address &address, std::int64_t key);

}  // namespace heed::runner
