// SPDX-License-Identifier: MIT
//
// A kernel's results against what the oracle expects.
#pragma once

#include <string>

#include "oracle.hpp"
#include "problem.hpp"

namespace heed::runner {

/// The bar: error of an output relative to the largest value of the output, of a log-sum-exp relative to max(1, |lse|).
inline constexpr double error_bar = 2e-6;

/// The bar for outputs of a storage type: f16 and bf16 may be off by half a unit in the last place more.
double error_bar_of(data_type output);

/// Largest errors so far. `failure` is empty while all is within the bar.
struct comparison {
    double output_error = 0.0;
    double log_sum_exp_error = 0.0;
    double share_of_bar = 0.0;  ///< largest error / allowed error
    std::string failure;        ///< the first one, with index and both values

    void merge(const comparison &other);
};

/// A score is known to some f32 roundings of its magnitude, however large the output: a sum of 128 products has 5
/// typically, and kernels add long rows up in parts.
inline constexpr double score_roundings = 8.0;

/// The key that a row sees and that is NaN; none if negative.
using nan_keys = std::vector<std::int64_t>;

/// What the rounding of keys and values in a cache may change, relative to the score magnitude
/// and to the largest output. 0 where tensors are such as the cache holds exactly, which it is without modifications of
/// keys and values.
double rounding_in_cache(const variant_description &variant, const tensor_types &types);

/// The allowed error is `error_bar`, as many times larger for an output as the mean magnitude of the values that make
/// up its row is than the largest output; or `score_roundings` * 2^-24 * the row's score magnitude where that is more; and
/// what `in_cache` gives besides.
/// `not_a_number[i]` belongs to row i. Weights that should be 0 must be exactly that, and the sum of a row is checked
/// as well; of the weights of a row that sees a NaN only that key's, which must be NaN.
comparison compare(const problem &of, const results &actual, const expectation &expected,
                   const nan_keys &not_a_number = {}, bool log_sum_exp = true, double in_cache = 0.0);

/// Elements of the results' memory outside of the tensors that were written, and elements inside that were not. Empty
/// text if there are none.
std::string find_stray_writes(const results &actual, computed what, bool log_sum_exp = true);

}  // namespace heed::runner
