// SPDX-License-Identifier: MIT
//
// Words for `weights` and `weight_factor`: what becomes of scores instead of a softmax, and dropout.
#pragma once

#include <heed/expression.hpp>

namespace heed {

namespace detail {

inline constexpr auto decayed = exp(-abs(score));

}  // namespace detail

/// 1 / (1 + exp(-score)), of each key for itself (Ramapuram et al. 2024, "Theory, analysis, and best practices for
/// sigmoid self-attention", section 2; they subtract log(kv_len) from scores first: `score_mod = score - log(kv_len)`).
inline constexpr auto sigmoid = select(score >= 0.0, 1.0, detail::decayed) / (detail::decayed + 1.0);

/// max(score, 0)^2, of each key for itself (Hua et al. 2022, "Transformer quality in linear time", section 3.1; they
/// divide scores by kv_len first: `score_mod = score / kv_len`).
inline constexpr auto relu_squared = select(score <= 0.0, 0.0, score *score);

/// 0 with probability `rate`, else 1 / (1 - rate): a factor of weights that keeps their expectation (Srivastava et al.
/// 2014). `seed` is a whole number; the same one gives the same pattern for any tiles and threads.
template <Operand Seed>
constexpr auto dropout(double rate, Seed seed) {
    rule::dropout_rate_must_be_below_one(rate);
    if constexpr (detail::InputWithoutIndices<Seed>) {
        rule::input_is_indexed<Seed>::check();
        return 1.0;
    } else if constexpr (!rule::dropout_seed_is_a_whole_number<detail::expression_of<Seed>>::check()) {
        return 1.0;
    } else {
        const auto random = detail::make_node<op::uniform_random_>(as_expression(seed), batch, head, q_row, kv_pos);
        return select(random < rate, 0.0, 1.0 / (1.0 - rate));
    }
}

}  // namespace heed
