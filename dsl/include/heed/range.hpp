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
#include <type_traits>

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

/// What the indices of a lookup depend on. If it is one side only, what the input holds over a tile can be found by
/// reading it once for each query, or each key, of the tile.
enum class lookup_side : std::uint8_t { queries, keys, both };

template <Expression Lookup>
inline constexpr lookup_side side_of = !uses<Lookup, kv_pos_>                ? lookup_side::queries
                                       : uses<Lookup, q_pos_, q_row_, head_> ? lookup_side::both
                                                                             : lookup_side::keys;

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

/// Ranges in numbers: a tile of pairs, and `read(input, indices...)` as for `attends`. The score is unknown, and so is
/// an input whose indices depend on queries and keys at once.
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
    constexpr auto look_up(const lookup<Input, Indices...> &at) const {
        return hana::unpack(at.indices, [&](const auto &...indices) {
            return value_or_range(at, Input{}, evaluate(indices, *this)...);
        });
    }

  private:
    template <class Lookup, class Input, class... Indices>
    constexpr auto value_or_range(const Lookup &at, Input, const Indices &...indices) const {
        if constexpr (all_points<Indices...>) {
            return point{detail::look_up<Input>(scalar_environment<Read>(read), indices.value...)};
        } else if constexpr (side_of<Lookup> == lookup_side::both) {
            return unknown{};
        } else {
            return range_of(at);
        }
    }

    // Reads every element.
    template <class Lookup>
    constexpr auto range_of(const Lookup &at) const {
        constexpr bool by_key = side_of<Lookup> == lookup_side::keys;
        const auto &positions = by_key ? tile.kv : tile.q;
        const auto &heads = by_key ? interval<std::int64_t>{0, 0} : tile.head;
        using value_type = std::conditional_t<Lookup::kind == value_kind::integer, std::int64_t, double>;
        value_type lowest{}, highest{};
        bool all_finite = true, first = true;
        for (std::int64_t head_number = heads.lowest; head_number <= heads.highest; ++head_number) {
            for (std::int64_t i = 0; i <= positions.highest - positions.lowest; ++i) {
                scalar_environment<Read> pair(read);
                pair.q_pos_value = tile.q.lowest + (by_key ? 0 : i);
                pair.q_row_value = tile.row.lowest + (by_key ? 0 : i);
                pair.kv_pos_value = tile.kv.lowest + (by_key ? i : 0);
                pair.head_value = head_number;
                pair.batch_value = tile.batch;
                pair.q_len_value = tile.q_len;
                pair.kv_len_value = tile.kv_len;
                const value_type value = evaluate(at, pair);
                all_finite = all_finite && arithmetic::is_finite(arithmetic::tag{}, value);
                lowest = first || value < lowest ? value : lowest;
                highest = first || highest < value ? value : highest;
                first = false;
            }
        }
        if constexpr (Lookup::kind == value_kind::integer) {
            return interval<std::int64_t>{lowest, highest};
        } else {
            return real_interval<double, bool>{lowest, highest, all_finite};
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
