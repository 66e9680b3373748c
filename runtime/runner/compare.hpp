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

/// Largest errors so far. `failure` is empty while all is within the bar.
struct comparison {
    double output_error = 0.0;
    double log_sum_exp_error = 0.0;
    double share_of_bar = 0.0;  ///< largest error / allowed error
    std::string failure;        ///< the first one, with index and both values

    void merge(const comparison &other);
};

/// A score is known to some f32 roundings of its magnitude, however large the output: a sum of 128 products has 5
/// typically. Beyond, the number grows with the root of head_dim.
inline constexpr double score_roundings = 8.0;

/// The allowed error is `error_bar`, or so many roundings times 2^-24 times the row's score magnitude where that is more.
/// `not_a_number[i]` says that row i sees a NaN.
comparison compare(const problem &of, const results &actual, const expectation &expected,
                   const std::vector<bool> &not_a_number = {}, bool log_sum_exp = true);

/// Elements of the results' memory outside of the tensors that were written, and elements inside that were not. Empty
/// text if there are none.
std::string find_stray_writes(const results &actual, bool log_sum_exp = true);

}  // namespace heed::runner
