// SPDX-License-Identifier: MIT
//
// Turns a declaration into what the generators work on: the Halide reading and the range reading of its expressions.
// The sources that heed_add_kernels writes include it.
#pragma once

#include <heed/halide_arithmetic.hpp>
#include <heed/heed.hpp>
#include <heed/input_number.hpp>
#include <heed/print.hpp>
#include <heed/range.hpp>
#include <heed/variant_source.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heed::generators {

namespace detail {

/// Positions are 32-bit whole numbers in kernels, and so is every whole number of a formula. Throws std::out_of_range.
Halide::Expr halide_constant(std::int64_t value);
/// Element `index` of these numbers, in double precision.
Halide::Expr constant_table(const std::vector<double> &numbers, const Halide::Expr &index);
inline Halide::Expr halide_constant(double value) { return static_cast<float>(value); }
inline Halide::Expr halide_constant(bool value) { return Halide::Internal::make_bool(value); }

inline Halide::Expr as_expr(const Halide::Expr &value) { return value; }
inline Halide::Expr as_expr(std::true_type) { return Halide::Internal::const_true(); }
inline Halide::Expr as_expr(std::false_type) { return Halide::Internal::const_false(); }

/// The Halide reading: one pair of query and key.
template <class Variant>
struct pair_reading : value_reading {
    const pair_values &values;
    const input_lookup &read;

    pair_reading(const pair_values &pair, const input_lookup &lookup) : values(pair), read(lookup) {}

    // clang-format off
    Halide::Expr operator()(score_) const { return values.score; }
    Halide::Expr operator()(q_pos_) const { return values.q_pos; }
    Halide::Expr operator()(kv_pos_) const { return values.kv_pos; }
    Halide::Expr operator()(head_) const { return values.head; }
    Halide::Expr operator()(batch_) const { return values.batch; }
    Halide::Expr operator()(q_len_) const { return values.q_len; }
    Halide::Expr operator()(kv_len_) const { return values.kv_len; }
    Halide::Expr operator()(q_row_) const { return values.q_row; }
    // clang-format on
    template <class T>
    Halide::Expr constant(T value) const {
        return halide_constant(value);
    }
    template <class Input, class... Indices>
    Halide::Expr lookup(Input, const Indices &...indices) const {
        return read(input_number<Variant, Input>(), {indices...});
    }
};

/// The Halide reading of one element of a row.
template <class Variant>
struct element_reading : value_reading {
    element_values values;
    const row_access &access;

    element_reading(const element_values &at, const row_access &rows) : values(at), access(rows) {}

    // clang-format off
    Halide::Expr operator()(dim_) const { return values.dim; }
    Halide::Expr operator()(q_pos_) const { return values.q_pos; }
    Halide::Expr operator()(q_row_) const { return values.q_row; }
    Halide::Expr operator()(head_) const { return values.head; }
    Halide::Expr operator()(kv_pos_) const { return values.kv_pos; }
    Halide::Expr operator()(group_) const { return values.group; }
    Halide::Expr operator()(batch_) const { return values.batch; }
    Halide::Expr operator()(q_len_) const { return values.q_len; }
    Halide::Expr operator()(kv_len_) const { return values.kv_len; }
    // clang-format on
    template <class T>
    Halide::Expr constant(T value) const {
        return halide_constant(value);
    }
    template <class Input, class... Indices>
    Halide::Expr lookup(Input, const Indices &...indices) const {
        return access.read(input_number<Variant, Input>(), {indices...});
    }
    template <class Row>
    Halide::Expr element(Row, const Halide::Expr &index) const {
        return access.element(index);
    }
    template <Expression E>
    Halide::Expr mean_over_dims(const E &of_dim) const {
        return access.mean_over_dims(
            [function = function(of_dim)](const Halide::Expr &dim) { return function(dim, {}); });
    }
    template <std::int64_t Extent, Expression E>
    Halide::Expr tabulated(const E &of_dim, const Halide::Expr &index) const {
        return access.tabulated(static_cast<int>(Extent), function(of_dim), index,
                                !uses<E, head_, group_, batch_, q_row_, query_, key_, value_, output_>);
    }
    template <std::size_t Extent>
    Halide::Expr constant_element(const std::array<double, Extent> &numbers, const Halide::Expr &index) const {
        return constant_table({numbers.begin(), numbers.end()}, index);
    }

  private:
    template <Expression E>
    function_of_place function(const E &of_dim) const {
        return [of_dim, at = values, &rows = access](const Halide::Expr &other_dim, const Halide::Expr &position) {
            element_values there = at;
            there.dim = other_dim;
            if (position.defined()) (at.kv_pos.defined() ? there.kv_pos : there.q_pos) = position;
            return evaluate(of_dim, element_reading(there, rows));
        };
    }
};

/// The range reading over one tile. `Head` is a point where the tile has one head. Without `HasTables` what is looked
/// up is unknown where it is not the same for the whole tile.
template <class Variant, class Head, bool HasTables>
struct tile_reading : range_reading {
    const tile_values &values;
    const input_lookup &read;
    Head head_range;
    mutable int table_count = 0;  // lookups are met in the same order each time

    tile_reading(const tile_values &tile, const input_lookup &lookup, const Head &head)
        : values(tile), read(lookup), head_range(head) {}

    // clang-format off
    interval<Halide::Expr> operator()(q_pos_) const { return {values.q_pos.lowest, values.q_pos.highest}; }
    interval<Halide::Expr> operator()(kv_pos_) const { return {values.kv_pos.lowest, values.kv_pos.highest}; }
    Head operator()(head_) const { return head_range; }
    point<Halide::Expr> operator()(batch_) const { return {values.batch}; }
    point<Halide::Expr> operator()(q_len_) const { return {values.q_len}; }
    point<Halide::Expr> operator()(kv_len_) const { return {values.kv_len}; }
    interval<Halide::Expr> operator()(q_row_) const { return {values.q_row.lowest, values.q_row.highest}; }
    // clang-format on
    template <class T>
    point<Halide::Expr> constant(T value) const {
        return {halide_constant(value)};
    }
    template <class Input, class... Indices>
    auto look_up(const heed::lookup<Input, Indices...> &at) const {
        return hana::unpack(
            at.indices, [&](const auto &...indices) { return value_or_range<Input>(at, evaluate(indices, *this)...); });
    }

  private:
    template <class Input, class Lookup, class... Indices>
    auto value_or_range(const Lookup &at, const Indices &...indices) const {
        if constexpr (all_points<Indices...>) {
            return point<Halide::Expr>{read(input_number<Variant, Input>(), {indices.value...})};
        } else if constexpr (!HasTables || side_of<Lookup> == lookup_side::both) {
            return unknown{};
        } else {
            constexpr bool is_integer = Lookup::kind == value_kind::integer;
            const value_range range = values.range_of({table_count++, side_of<Lookup> == lookup_side::keys,
                                                       is_integer ? Halide::Int(32) : Halide::Float(32),
                                                       [at](const pair_values &pair, const input_lookup &inputs) {
                                                           return evaluate(at, pair_reading<Variant>(pair, inputs));
                                                       }});
            if constexpr (is_integer) {
                return interval<Halide::Expr>{range.lowest, range.highest};
            } else {
                // Both are infinite where some element is not finite.
                return real_interval<Halide::Expr, Halide::Expr>{range.lowest, range.highest,
                                                                 is_finite(arithmetic::tag{}, range.highest)};
            }
        }
    }
};

template <class Variant, bool HasTables, class Mask, class Head>
tile_condition classify(const Mask &mask, const tile_values &tile, const input_lookup &read, const Head &head) {
    const auto known = intervals::as_truth(evaluate(mask, tile_reading<Variant, Head, HasTables>(tile, read, head)));
    return {as_expr(known.may), as_expr(known.must)};
}

template <class Variant, bool HasTables, class Mask>
tile_condition classify(const Mask &mask, const tile_values &tile, const input_lookup &read) {
    return tile.one_head ? classify<Variant, HasTables>(mask, tile, read, point<Halide::Expr>{tile.head.lowest})
                         : classify<Variant, HasTables>(mask, tile, read,
                                                        interval<Halide::Expr>{tile.head.lowest, tile.head.highest});
}

inline Halide::Type halide_type(input_type type) {
    return type == input_type::i32 ? Halide::Int(32) : Halide::Float(32);
}

}  // namespace detail

/// The declaration `Variant`, under the name that its kernels bear.
template <const auto &Variant>
variant_source source_of(std::string name) {
    using V = std::remove_cvref_t<decltype(Variant)>;
    const auto reading_of = [](auto expression) {
        return [expression](const pair_values &values, const input_lookup &read) {
            return evaluate(expression, detail::pair_reading<V>(values, read));
        };
    };
    variant_source source;
    source.name = std::move(name);
    source.formula = formula(Variant);
    source.heads = V::heads;
    source.groups = V::groups;
    source.head_dim = V::head_dim;
    source.value_dim = V::value_dim;
    source.scale = Variant.scale();
    for (const auto &input : V::inputs) {
        source.inputs.push_back({std::string(input.name), detail::halide_type(input.type), input.rank});
    }
    source.mask = reading_of(Variant.mask());
    source.score_mod = reading_of(Variant.score_mod());
    if constexpr (V::has_sink) source.sink_logit = reading_of(Variant.sink_logit());
    source.query_start = reading_of(Variant.query_start());
    if constexpr (!V::is_softmax) source.free_weight = reading_of(Variant.free_weight());
    if constexpr (V::has_weight_factor) source.weight_factor = reading_of(Variant.weight_factor());
    const auto stages_of = [](const auto &tuple) {
        std::vector<row_stage> stages;
        hana::unpack(tuple, [&](const auto &...each) {
            (stages.push_back([each](const element_values &values, const row_access &access) {
                return evaluate(each, detail::element_reading<V>(values, access));
            }),
             ...);
        });
        return stages;
    };
    source.query_stages = stages_of(Variant.query_stages());
    source.key_stages = stages_of(Variant.key_stages());
    source.value_stages = stages_of(Variant.value_stages());
    source.output_stages = stages_of(Variant.output_stages());
    const auto uses_lengths = [](const auto &tuple) {
        return hana::unpack(tuple, [](const auto &...each) {
            return (... || uses<std::remove_cvref_t<decltype(each)>, q_len_, kv_len_>);
        });
    };
    source.rows_depend_on_lengths = uses_lengths(Variant.key_stages()) || uses_lengths(Variant.value_stages());
    source.classify = [mask = Variant.mask()](const tile_values &tile, const input_lookup &read) {
        return tile.range_of ? detail::classify<V, true>(mask, tile, read)
                             : detail::classify<V, false>(mask, tile, read);
    };
    return source;
}

}  // namespace heed::generators
