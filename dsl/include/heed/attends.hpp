// SPDX-License-Identifier: MIT
//
// The scalar reading: a variant evaluated for one pair of query and key, in int64 and double. Masks of positions can be
// checked by static_assert; it also serves as an oracle.
#pragma once

#include <heed/evaluate.hpp>
#include <heed/variant.hpp>

#include <cstdint>

namespace heed {

/// Stands for the lookup function where an expression reads no input.
struct no_inputs {};

/// Values for every terminal, and `read(input, indices...)` for inputs, which returns a number.
template <class Read = no_inputs>
struct scalar_environment : value_reading {
    double score_value = 0;
    std::int64_t q_pos_value = 0;
    std::int64_t kv_pos_value = 0;
    std::int64_t head_value = 0;
    std::int64_t batch_value = 0;
    std::int64_t q_len_value = 0;
    std::int64_t kv_len_value = 0;
    std::int64_t q_row_value = 0;
    Read read;

    constexpr explicit scalar_environment(Read read_input = {}) : read(read_input) {}

    // clang-format off
    constexpr double operator()(score_) const { return score_value; }
    constexpr std::int64_t operator()(q_pos_) const { return q_pos_value; }
    constexpr std::int64_t operator()(kv_pos_) const { return kv_pos_value; }
    constexpr std::int64_t operator()(head_) const { return head_value; }
    constexpr std::int64_t operator()(batch_) const { return batch_value; }
    constexpr std::int64_t operator()(q_len_) const { return q_len_value; }
    constexpr std::int64_t operator()(kv_len_) const { return kv_len_value; }
    constexpr std::int64_t operator()(q_row_) const { return q_row_value; }
    // clang-format on

    template <class T>
    static constexpr T constant(T value) {
        return value;
    }

    template <class Input, class... Indices>
    constexpr auto lookup(Input input, Indices... indices) const requires requires(const Read &r) {
        r(input, indices...);
    }
    {
        if constexpr (Input::kind == value_kind::integer) {
            return static_cast<std::int64_t>(read(input, indices...));
        } else {
            return static_cast<double>(read(input, indices...));
        }
    }
};

/// One pair for `attends`: absolute positions of query and key. The lengths are, if not given, the shortest that hold
/// both; the query's row, if not given, is its position.
struct token_pair {
    std::int64_t q = 0;
    std::int64_t kv = 0;
    std::int64_t head = 0;
    std::int64_t batch = 0;
    std::int64_t q_len = -1;
    std::int64_t kv_len = -1;
    std::int64_t row = -1;
};

/// The environment of a pair. `read(input, indices...)` gives elements of inputs: `input.name()` is the name, indices
/// are std::int64_t.
template <class Read = no_inputs>
constexpr auto environment_of(const token_pair &pair, double score = 0, Read read = {}) {
    scalar_environment<Read> environment(read);
    const std::int64_t longest = (pair.q > pair.kv ? pair.q : pair.kv) + 1;
    environment.score_value = score;
    environment.q_pos_value = pair.q;
    environment.kv_pos_value = pair.kv;
    environment.head_value = pair.head;
    environment.batch_value = pair.batch;
    environment.kv_len_value = pair.kv_len >= 0 ? pair.kv_len : longest;
    environment.q_len_value = pair.q_len >= 0 ? pair.q_len : environment.kv_len_value;
    environment.q_row_value = pair.row >= 0 ? pair.row : pair.q;
    return environment;
}

/// True if the query at position `q` attends to the key at `kv`: `attends(v, {.q = 7, .kv = 3})`. A variant whose mask
/// reads inputs needs a function `read(input, indices...)`.
template <class... Settings, class Read = no_inputs>
constexpr bool attends(const attention_variant<Settings...> &variant, const token_pair &pair, Read read = {}) {
    const auto environment = environment_of(pair, 0, read);
    return pair.kv >= 0 && pair.kv < environment.kv_len_value && evaluate(variant.mask(), environment);
}

/// The score after `score_mod`, where `score` is scale * <query, key>.
template <class... Settings, class Read = no_inputs>
constexpr double modified_score(const attention_variant<Settings...> &variant, const token_pair &pair, double score,
                                Read read = {}) {
    return evaluate(variant.score_mod(), environment_of(pair, score, read));
}

/// The weight of a score where `weights` is a formula.
template <class... Settings, class Read = no_inputs>
constexpr double weight_of_score(const attention_variant<Settings...> &variant, const token_pair &pair, double score,
                                 Read read = {}) {
    return evaluate(variant.free_weight(), environment_of(pair, score, read));
}

/// The factor of a pair's weight.
template <class... Settings, class Read = no_inputs>
constexpr double factor_of_weight(const attention_variant<Settings...> &variant, const token_pair &pair,
                                  Read read = {}) {
    return evaluate(variant.weight_factor(), environment_of(pair, 0, read));
}

}  // namespace heed
