// SPDX-License-Identifier: MIT
//
// Fills an entry of the kernel table from a declaration: sizes, inputs, and the readings in double precision. The table
// that the build writes for a kernel library includes this header, so a program that links the library needs neither
// the declaration nor C++20.
#pragma once

#include <heed/heed.hpp>
#include <heed/input_number.hpp>
#include <heed/kernel_table.hpp>
#include <heed/range.hpp>
#include <heed/rows.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

namespace heed {

namespace detail {

/// Reads inputs through the table's `input_reader`.
template <class Variant>
struct table_reader {
    const input_reader *reader = nullptr;

    template <class Input, class... Indices>
    double operator()(Input, Indices... indices) const {
        const std::int64_t list[sizeof...(Indices) + 1] = {static_cast<std::int64_t>(indices)..., 0};
        return reader->read(reader->context, input_number<Variant, Input>(), list);
    }
};

/// The range reading over a whole call, for the indices of inputs. What an input holds is not known yet.
struct call_environment : range_reading {
    call_sizes sizes;
    std::int64_t heads, groups, row_size;
    interval<std::int64_t> q_positions;
    bool q_positions_are_known;

    // clang-format off
    unknown operator()(score_) const { return {}; }
    interval<std::int64_t> operator()(q_pos_) const { return q_positions; }
    interval<std::int64_t> operator()(kv_pos_) const { return {0, sizes.kv_len - 1}; }
    interval<std::int64_t> operator()(head_) const { return {0, heads - 1}; }
    interval<std::int64_t> operator()(batch_) const { return {0, sizes.batch - 1}; }
    point<std::int64_t> operator()(q_len_) const { return {sizes.q_len}; }
    point<std::int64_t> operator()(kv_len_) const { return {sizes.kv_len}; }
    interval<std::int64_t> operator()(q_row_) const { return {0, sizes.q_len - 1}; }
    interval<std::int64_t> operator()(group_) const { return {0, groups - 1}; }
    interval<std::int64_t> operator()(dim_) const { return {0, row_size - 1}; }
    // clang-format on
    template <class T>
    static constexpr point<T> constant(T value) {
        return {value};
    }
    template <class Input, class... Indices>
    static constexpr unknown lookup(Input, const Indices &...) {
        return {};
    }
};

template <class Setting, class Terminal>
inline constexpr bool setting_uses = false;
template <class Key, Expression E, class Terminal>
inline constexpr bool setting_uses<setting<Key, E>, Terminal> = uses<E, Terminal>;

template <class Range>
constexpr index_range as_index_range(const Range &range) {
    if constexpr (std::is_same_v<Range, unknown>) {
        return {0, 0, false};
    } else {
        const auto bounds = intervals::bounds_of(range);
        return {bounds.lowest, bounds.highest, true};
    }
}

constexpr index_range around(const index_range &a, const index_range &b) {
    return {std::min(a.lowest, b.lowest), std::max(a.highest, b.highest), a.known && b.known};
}

template <const auto &Variant>
struct readings_of {
    using V = std::remove_cvref_t<decltype(Variant)>;
    using reader = table_reader<V>;
    static constexpr bool uses_rows_of_queries = []<class... Given>(attention_variant<Given...> *) {
        return (... || detail::setting_uses<Given, q_row_>);
    }(static_cast<V *>(nullptr));

    static token_pair at(const call_sizes &sizes, const pair_position &pair, const input_reader &inputs) {
        std::int64_t row = 0;
        if constexpr (uses_rows_of_queries) row = pair.q_pos - query_start(sizes, pair.batch, inputs);
        return {.q = pair.q_pos,
                .kv = pair.kv_pos,
                .head = pair.head,
                .batch = pair.batch,
                .q_len = sizes.q_len,
                .kv_len = sizes.kv_len,
                .row = row};
    }

    static bool attends(const call_sizes &sizes, const pair_position &pair, const input_reader &inputs) {
        return heed::attends(Variant, at(sizes, pair, inputs), reader{&inputs});
    }

    static double modified_score(const call_sizes &sizes, const pair_position &pair, double score,
                                 const input_reader &inputs) {
        return heed::modified_score(Variant, at(sizes, pair, inputs), score, reader{&inputs});
    }

    static double weight_of_score(const call_sizes &sizes, const pair_position &pair, double score,
                                  const input_reader &inputs) {
        return heed::weight_of_score(Variant, at(sizes, pair, inputs), score, reader{&inputs});
    }

    static double weight_factor(const call_sizes &sizes, const pair_position &pair, const input_reader &inputs) {
        return heed::factor_of_weight(Variant, at(sizes, pair, inputs), reader{&inputs});
    }

    // Rows of queries and results have a position and a head, those of keys and values a position and a group.

    template <class Stages>
    static void modify(const Stages &stages, const row_place &place, double *row, std::int64_t size,
                       const input_reader &inputs) {
        const std::vector<double> changed =
            modified_row(stages, place, std::vector<double>(row, row + size), reader{&inputs});
        std::copy(changed.begin(), changed.end(), row);
    }

    static row_place query_place(const call_sizes &sizes, const row_position &at, const input_reader &inputs) {
        return {.batch = at.batch,
                .head = at.head_or_group,
                .q_pos = query_start(sizes, at.batch, inputs) + at.row_or_key,
                .q_row = at.row_or_key,
                .q_len = sizes.q_len,
                .kv_len = sizes.kv_len};
    }

    static row_place key_place(const call_sizes &sizes, const row_position &at) {
        return {.batch = at.batch,
                .group = at.head_or_group,
                .kv_pos = at.row_or_key,
                .q_len = sizes.q_len,
                .kv_len = sizes.kv_len};
    }

    static void modify_query(const call_sizes &sizes, const row_position &at, double *row, const input_reader &inputs) {
        modify(Variant.query_stages(), query_place(sizes, at, inputs), row, V::head_dim, inputs);
    }

    static void modify_key(const call_sizes &sizes, const row_position &at, double *row, const input_reader &inputs) {
        modify(Variant.key_stages(), key_place(sizes, at), row, V::head_dim, inputs);
    }

    static void modify_value(const call_sizes &sizes, const row_position &at, double *row, const input_reader &inputs) {
        modify(Variant.value_stages(), key_place(sizes, at), row, V::value_dim, inputs);
    }

    static void modify_output(const call_sizes &sizes, const row_position &at, double *row,
                              const input_reader &inputs) {
        modify(Variant.output_stages(), query_place(sizes, at, inputs), row, V::value_dim, inputs);
    }

    static double sink_logit(const call_sizes &sizes, std::int64_t batch, std::int64_t head,
                             const input_reader &inputs) {
        return evaluate(
            Variant.sink_logit(),
            environment_of(token_pair{.head = head, .batch = batch, .q_len = sizes.q_len, .kv_len = sizes.kv_len}, 0,
                           reader{&inputs}));
    }

    static std::int64_t query_start(const call_sizes &sizes, std::int64_t batch, const input_reader &inputs) {
        return evaluate(Variant.query_start(),
                        environment_of(token_pair{.batch = batch, .q_len = sizes.q_len, .kv_len = sizes.kv_len}, 0,
                                       reader{&inputs}));
    }

    static index_range input_index(const call_sizes &sizes, int input, int dimension) {
        call_environment environment{{}, sizes, V::heads, V::groups, 0, {}, false};
        const index_range start = as_index_range(evaluate(Variant.query_start(), environment));
        environment.q_positions = {start.lowest, start.highest + sizes.q_len - 1};
        index_range result{0, 0, false};
        bool first = true;
        Variant.for_each_lookup([&](const auto &lookup, std::int64_t dim_extent) {
            environment.row_size = dim_extent;
            using L = std::remove_cvref_t<decltype(lookup)>;
            if (input_number<V, typename L::input>() != input) return;
            int index_dimension = 0;
            hana::unpack(lookup.indices, [&](const auto &...indices) {
                [[maybe_unused]] const auto merge = [&](const auto &index) {
                    if (index_dimension++ != dimension) return;
                    index_range range = as_index_range(evaluate(index, environment));
                    if (uses<decltype(index), q_pos_>) range.known = range.known && start.known;
                    // No key, no index; positions of queries count where there are pairs only.
                    if (uses<decltype(index), kv_pos_> && sizes.kv_len == 0) range.known = false;
                    if (uses<decltype(index), q_pos_> && sizes.kv_len == 0 && dim_extent == 0) range.known = false;
                    // Neither is there an index without a query or a batch element.
                    if (uses<decltype(index), q_pos_, q_row_> && sizes.q_len == 0) range.known = false;
                    if (uses<decltype(index), batch_> && sizes.batch == 0) range.known = false;
                    result = first ? range : around(result, range);
                    first = false;
                };
                (merge(indices), ...);
            });
        });
        return result;
    }

    static tile_class classify(const call_sizes &sizes, const tile_bounds &tile, const input_reader &inputs) {
        const std::int64_t start = query_start(sizes, tile.batch, inputs);
        const pair_tile pairs{.q = {start + tile.first_row, start + tile.first_row + tile.row_count - 1},
                              .kv = {tile.first_key, tile.first_key + tile.key_count - 1},
                              .head = {tile.first_head, tile.first_head + tile.head_count - 1},
                              .batch = tile.batch,
                              .q_len = sizes.q_len,
                              .kv_len = sizes.kv_len,
                              .row = {tile.first_row, tile.first_row + tile.row_count - 1}};
        const truth<bool> known = attends_within(Variant, pairs, reader{&inputs});
        return known.must ? tile_class::full : known.may ? tile_class::mixed : tile_class::empty;
    }
};

template <class Variant>
inline constexpr auto input_descriptions = [] {
    std::array<input_description, std::max<std::size_t>(Variant::inputs.size(), 1)> result{};
    for (std::size_t i = 0; i < Variant::inputs.size(); ++i) {
        const auto &input = Variant::inputs[i];
        // The name is a string literal within the type of the input, so it ends with a zero.
        result[i] = {input.name.data(), input.type == input_type::i32 ? data_type::i32 : data_type::f32, input.rank};
    }
    return result;
}();

}  // namespace detail

/// The entry of `Variant` in the kernel table.
template <const auto &Variant, std::size_t KernelCount>
constexpr variant_description describe(const char *name, const char *formula,
                                       const kernel_description (&kernels)[KernelCount]) {
    using V = std::remove_cvref_t<decltype(Variant)>;
    using readings = detail::readings_of<Variant>;
    variant_description result{name,
                               formula,
                               V::heads,
                               V::groups,
                               V::head_dim,
                               V::value_dim,
                               Variant.scale(),
                               detail::input_descriptions<V>.data(),
                               static_cast<int>(V::inputs.size()),
                               kernels,
                               static_cast<int>(KernelCount),
                               {readings::attends, readings::modified_score, nullptr, readings::query_start,
                                readings::input_index, readings::classify}};
    variant_readings &parts = result.readings;
    if constexpr (V::has_sink) parts.sink_logit = readings::sink_logit;
    if constexpr (!V::is_softmax) parts.weight_of_score = readings::weight_of_score;
    if constexpr (V::has_weight_factor) parts.weight_factor = readings::weight_factor;
    if constexpr (V::template has<query_mod_> || V::template has<position_>)
        parts.modify_query = readings::modify_query;
    if constexpr (V::template has<key_mod_> || V::template has<position_>) parts.modify_key = readings::modify_key;
    if constexpr (V::template has<value_mod_>) parts.modify_value = readings::modify_value;
    if constexpr (V::template has<output_mod_>) parts.modify_output = readings::modify_output;
    return result;
}

}  // namespace heed
