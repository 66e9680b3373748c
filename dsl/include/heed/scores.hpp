// SPDX-License-Identifier: MIT
//
// Scores: numbers that replace `score` before the mask and the softmax. Each is an ordinary expression of `score`.
#pragma once

#include <heed/expression.hpp>

#include <bit>
#include <cstdint>
#include <numbers>

namespace heed {

/// cap * tanh(x / cap): close to x near 0, never beyond +-cap (Gemma 2, section 2, "Logit soft-capping").
template <Expression E, Operand Cap>
constexpr auto softcap(E x, Cap cap) {
    return tanh(x / cap) * cap;
}

/// ALiBi's slope of each head (Press et al. 2022, section 3): 2^(-8 (head + 1) / heads) if `heads` is a power of two.
/// If not, the slopes of the next lower power p, then every other slope of 2 p, as in the authors' code.
template <class Heads>
constexpr auto alibi_slope(Heads) {
    if constexpr (!detail::is_int<Heads>) {
        rule::alibi_takes_the_number_of_heads<Heads, false>::check();
        return score;
    } else if constexpr (Heads::value < 1) {
        rule::alibi_takes_the_number_of_heads<Heads, false>::check();
        return score;
    } else {
        constexpr auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(Heads::value)));
        constexpr double step = -8.0 * std::numbers::ln2 / static_cast<double>(power);
        if constexpr (power == Heads::value) {
            return exp((head + 1_c) * step);
        } else {
            return exp(select(head < int_<power>{}, head + 1_c, head - int_<power>{} + 0.5) * step);
        }
    }
}

/// Attention with linear biases: the score less slope times distance. `heads` is the variant's: `alibi(12_c)`. Usually
/// causal; without a causal mask later keys lose as much as earlier ones.
template <class Heads>
constexpr auto alibi(Heads heads) {
    return score - alibi_slope(heads) * abs(q_pos - kv_pos);
}

}  // namespace heed
