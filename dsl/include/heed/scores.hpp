// SPDX-License-Identifier: MIT
//
// Scores: numbers that replace `score` before the mask and the softmax. Each is an ordinary expression of `score`.
//
// There are two kinds of words. Those that take a score give the whole new score, and nest: `softcap(temperature(score,
// 2.0), 30.0)`. Those that end in `_bias`, here and in relative_positions.hpp, are terms to be added: `score +
// alibi_bias(12_c)`.
//
// A bias of one's own is an input with the indices that it depends on, outermost first; what it does not depend on is
// left out and so shared: `score + input<"bias">(batch, head, q_pos, kv_pos)`, `score + input<"bias">(head, q_pos,
// kv_pos)`, `score + input<"key_bias">(batch, kv_pos)`. Its rows are positions: where the table has one for each query
// of the call, index it by `q_row`.
#pragma once

#include <heed/expression.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <numbers>

namespace heed {

/// cap * tanh(x / cap): close to x near 0, never beyond +-cap (Gemma 2, section 2, "Logit soft-capping").
template <Expression E, Operand Cap>
constexpr auto softcap(E x, Cap cap) {
    return tanh(x / cap) * cap;
}

/// x / t: flatter weights for t > 1, sharper ones for t < 1. `t` may be learned: `temperature(score,
/// input<"temperature">[head])`.
template <Expression E, Operand Temperature>
constexpr auto temperature(E x, Temperature t) {
    return x / t;
}

/// x times an element of a table of shape (heads): a learned scale for each head, such as the inverse temperature of
/// cosine attention (Swin V2, Liu et al. 2022, section 3.2).
template <Expression E, class Table>
constexpr auto scaled_by_head(E x, Table table) {
    if constexpr (!rule::table_is_an_input_without_indices<Table, detail::InputWithoutIndices<Table>>::check()) {
        return x;
    } else {
        return x * table[head];
    }
}

/// x * s * log(n) for the n = q_pos + 1 keys of a causal query, which keeps long contexts from flattening the weights
/// (Scalable-Softmax, Nakanishi 2025, section 2). `s` is a number or learned: `input<"s">[head]`.
template <Expression E, Operand S>
constexpr auto scaled_by_log_length(E x, S s) {
    return x * (s * log(q_pos + 1_c));
}

/// x * (strength * log(floor((q_pos + 1) / step) + 1) + 1): 1 for the first `step` positions, growing slowly (attention
/// temperature of Llama 4's layers without positions; 8192 and 0.1 are its defaults).
template <Expression E, Operand Step = int_<8192>, Operand Strength = double>
constexpr auto scaled_by_log_position(E x, Step step = {}, Strength strength = 0.1) {
    return x * (strength * log((q_pos + 1_c) / step + 1_c) + 1.0);
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
            return detail::make_node<op::for_heads_<Heads::value>>(exp((head + 1_c) * step));
        } else {
            return detail::make_node<op::for_heads_<Heads::value>>(
                exp(select(head < int_<power>{}, head + 1_c, head - int_<power>{} + 0.5) * step));
        }
    }
}

/// Attention with linear biases: minus slope times distance, to be added to a score: `softcap(score, 30.0) +
/// alibi_bias(12_c)`. `heads` is the variant's. Usually causal; without a causal mask later keys lose as much as
/// earlier ones.
template <class Heads>
constexpr auto alibi_bias(Heads heads) {
    return -alibi_slope(heads) * abs(q_pos - kv_pos);
}

/// The whole score with linear biases, score + alibi_bias(heads): `score_mod = alibi(12_c)`.
template <class Heads>
constexpr auto alibi(Heads heads) {
    return score - alibi_slope(heads) * abs(q_pos - kv_pos);
}

/// KERPLE's logarithmic kernel: -r1 log(1 + r2 |q_pos - kv_pos|) with learned r1, r2 > 0, often one for each head (Chi
/// et al. 2022, section 4).
template <Operand R1, Operand R2>
constexpr auto kerple_log_bias(R1 r1, R2 r2) {
    return -(r1 * log(r2 * abs(q_pos - kv_pos) + 1.0));
}

namespace detail {

// True where alibi(heads) is a term of a sum.
template <class E>
inline constexpr bool has_alibi_term = false;
template <std::int64_t Heads, class Slope>
inline constexpr bool has_alibi_term<
    node<op::minus, score_,
         node<op::times, node<op::for_heads_<Heads>, Slope>, expression_of<decltype(to_real(abs(q_pos - kv_pos)))>>>> =
    true;
template <class A, class B>
inline constexpr bool has_alibi_term<node<op::plus, A, B>> = has_alibi_term<A> || has_alibi_term<B>;

template <class E>
inline constexpr bool uses_score = false;
template <Expression E>
inline constexpr bool uses_score<E> = uses<E, score_>;

template <class A, class B>
inline constexpr bool adds_alibi_to_a_score = (has_alibi_term<A> && uses_score<B>) ||
                                              (has_alibi_term<B> && uses_score<A>);

}  // namespace detail

// Chosen before the general '+', because `score + alibi(12_c)` reads well and counts the score twice.
template <class A, OperandWith<A> B>
requires(detail::adds_alibi_to_a_score<A, B>) constexpr auto operator+(A, B) {
    rule::alibi_is_the_whole_score<A, B, false>::check();
    return score;
}

}  // namespace heed
