// SPDX-License-Identifier: MIT
//
// The range reading: what is known of an expression over a tile of queries and keys. For a mask that is whether it may
// be true for some pair and must be true for every pair, which decides whether a tile is skipped, or computed without
// mask. Values are those of intervals.hpp.
#pragma once

#include <heed/attends.hpp>
#include <heed/evaluate.hpp>
#include <heed/intervals.hpp>
#include <heed/variant.hpp>

#include <cstdint>

namespace heed {

/// Base of range readings: has `apply`. The environment gives `point`, `interval`, `real_interval`, `truth` or
/// `unknown` for terminals, literals and lookups. Operators on points give a point; one without a rule for ranges gives
/// `unknown`.
struct range_reading {
    template <class Operator, class... Ranges>
    static constexpr auto apply(Operator operation, const Ranges &...ranges) {
        if constexpr ((intervals::is_point<Ranges> && ...)) {
            return point{value_reading::apply(operation, ranges.value...)};
        } else if constexpr (requires { Operator::range(ranges...); }) {
            return Operator::range(ranges...);
        } else {
            return unknown{};
        }
    }
};

/// True if every range is a point, so that for instance an input can be read there.
template <class... Ranges>
inline constexpr bool all_points = (intervals::is_point<Ranges> && ...);

/// A rectangle of pairs for `tile_environment`: absolute positions, both ends included.
struct pair_tile {
    interval<std::int64_t> q{0, 0};
    interval<std::int64_t> kv{0, 0};
    interval<std::int64_t> head{0, 0};
    std::int64_t batch = 0;
    std::int64_t q_len = 0;
    std::int64_t kv_len = 0;
    interval<std::int64_t> row{0, 0};
};

/// Ranges in numbers: a tile of pairs, and `read(input, indices...)` as for `attends`. An input whose indices are not
/// the same for the whole tile is unknown, and so is the score.
template <class Read = no_inputs>
struct tile_environment : range_reading {
    pair_tile tile;
    Read read;

    constexpr explicit tile_environment(const pair_tile &pairs, Read read_input = {}) : tile(pairs), read(read_input) {}

    // clang-format off
    constexpr unknown operator()(score_) const { return {}; }
    constexpr interval<std::int64_t> operator()(q_pos_) const { return tile.q; }
    constexpr interval<std::int64_t> operator()(kv_pos_) const { return tile.kv; }
    constexpr interval<std::int64_t> operator()(head_) const { return tile.head; }
    constexpr point<std::int64_t> operator()(batch_) const { return {tile.batch}; }
    constexpr point<std::int64_t> operator()(q_len_) const { return {tile.q_len}; }
    constexpr point<std::int64_t> operator()(kv_len_) const { return {tile.kv_len}; }
    constexpr interval<std::int64_t> operator()(q_row_) const { return tile.row; }
    // clang-format on

    template <class T>
    static constexpr point<T> constant(T value) {
        return {value};
    }

    template <class Input, class... Indices>
    constexpr auto lookup(Input, const Indices &...indices) const {
        if constexpr (all_points<Indices...>) {
            return point{detail::look_up<Input>(scalar_environment<Read>(read), indices.value...)};
        } else {
            return unknown{};
        }
    }
};

/// Whether a condition may be true for some pair of the tile, and must be for every pair: a truth<bool>.
template <Expression Condition, class Read = no_inputs>
constexpr truth<bool> truth_within(const Condition &condition, const pair_tile &tile, Read read = {}) {
    const auto known = intervals::as_truth(evaluate(condition, tile_environment<Read>(tile, read)));
    return {bool{known.may}, bool{known.must}};
}

/// The same for a variant: its mask, and kv_pos < kv_len.
template <class... Settings, class Read = no_inputs>
constexpr truth<bool> attends_within(const attention_variant<Settings...> &variant, const pair_tile &tile,
                                     Read read = {}) {
    return truth_within(variant.mask() && kv_pos < kv_len, tile, read);
}

}  // namespace heed
