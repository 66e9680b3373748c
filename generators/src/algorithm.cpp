// SPDX-License-Identifier: MIT
#include "algorithm.hpp"

#include <heed/halide_arithmetic.hpp>

#include "arithmetic.hpp"
#include "whole_numbers.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::RDom;

softmax_attention::softmax_attention(const variant_source &source, const tile_shape &shape, const storage_types &stored)
    : tiled_attention(source, stored, {shape.rows, shape.keys, shape.heads_per_tile}),
      tile(shape),
      key_is_plain(keys_are_plain(source, stored)),
      value_is_plain(values_are_plain(source, stored)) {
    for (const range_table &table : range_tables_of(variant, tile.heads_per_tile == 1)) {
        tables.push_back({table, ImageParam(table.type, 5, "tile_table_" + std::to_string(table.number))});
        tables.back().entries.dim(0).set_bounds(0, 2);
    }
    read_queries();
    read_keys_and_values();
    compute_scores();
    compute_weights();
    weigh_values();
    carry_state();
    write_results();
    pin_layouts();
}

// Rows behind the last query stay 0; they are read in groups, so that few queries cost little.
void softmax_attention::read_queries() {
    const Expr query_head = head_of(row);
    const Expr query_row = Halide::min(position_of(row), q_len - 1);
    at(query_rows, {dim, row}) =
        modified_element(
            variant.query_stages, query_element(query_row, query_head),
            [&](const Expr &index) {
                return to_float(query(index, query_head, query_row, group, batch), types.has_f16c);
            },
            variant.head_dim, look_up(), [&](const Func &mean) { return at(mean, {row}); },
            {{table_row, batch}, query_start() + table_row, {query_row, batch}}, of_queries) *
        static_cast<float>(variant.scale);
    rows_to_read = RDom(0, tile.rows_together, 0, tile.rows / tile.rows_together, "rows_to_read");
    rows_to_read.where(position_of(rows_to_read.y * tile.rows_together) < q_len);
    const Expr row_to_read = rows_to_read.y * tile.rows_together + rows_to_read.x;
    at(query_tile, {row, dim}) = 0.0f;
    at(query_tile, {row_to_read, dim}) = at(query_rows, {dim, row_to_read});
}

void softmax_attention::read_keys_and_values() {
    const Expr kv_pos = key_index(key_in_tile);
    const auto of_key = [&](const Func &mean) { return at_step(mean, {key_in_tile}); };
    if (!key_is_plain) at_step(key_tile, {dim, key_in_tile}) = modified_key(kv_pos, of_key);
    if (!value_is_plain) at_step(value_tile, {dim, key_in_tile}) = modified_value(kv_pos, of_key);
}

Expr softmax_attention::key_element(const Expr &index, const Expr &key_offset) const {
    return key_is_plain ? Expr(key(index, key_index(key_offset), group, batch))
                        : Expr(at_step(key_tile, {index, key_offset}));
}

Expr softmax_attention::value_element(const Expr &column, const Expr &key_offset) const {
    return value_is_plain ? Expr(value(column, key_index(key_offset), group, batch))
                          : Expr(at_step(value_tile, {column, key_offset}));
}

void softmax_attention::compute_scores() {
    const int parts = product_parts(variant), dims_of_part = divided_up(variant.head_dim, parts);
    const Expr key_offset = key_group * tile.keys_together + key_in_group;
    head_dims = RDom(0, dims_of_part, "head_dims");
    // Values are read in narrow columns, which processors do not foresee: they are asked for while keys are at work.
    at_step(values_asked_for, {key_group}) =
        values_read_ahead(key_block * tile.keys + key_group * tile.keys_together, tile.keys_together);
    at_step(product, {row, key_in_group, key_group}) = at_step(values_asked_for, {key_group});
    if (parts == 1) {
        at_step(product, {row, key_in_group, key_group}) +=
            at(query_tile, {row, head_dims}) * key_element(head_dims, key_offset);
    } else {
        const Expr element = head_part * dims_of_part + head_dims;
        head_dims.where(element < variant.head_dim);
        at_step(partial_product, {row, key_in_group, key_group, head_part}) = 0.0f;
        at_step(partial_product, {row, key_in_group, key_group, head_part}) +=
            at(query_tile, {row, element}) * key_element(element, key_offset);
        head_parts = RDom(0, parts, "head_parts");
        at_step(product, {row, key_in_group, key_group}) +=
            at_step(partial_product, {row, key_in_group, key_group, head_parts});
    }

    keys_to_score = reachable_groups_of_keys("keys_to_score");
    const Expr this_key = keys_to_score.y * tile.keys_together + keys_to_score.x;
    at_step(score, {row, key_in_tile}) = Halide::undef<float>();
    at_step(score, {row, this_key}) = variant.score_mod(
        values_at(row, this_key, at_step(product, {row, keys_to_score.x, keys_to_score.y})), look_up());

    keys_to_mask = reachable_keys_of_tile("keys_to_mask");
    keys_to_mask.where(!classify(key_block).must);
    at_step(score, {row, keys_to_mask}) =
        Halide::select(visible(row, keys_to_mask), at_step(score, {row, keys_to_mask}), masked_score());
}

// Softmax of one step, relative to its own maximum; or weights that need no maximum.
void softmax_attention::compute_weights() {
    keys_to_exponentiate = reachable_groups_of_keys("keys_to_exponentiate");
    const Expr this_key = keys_to_exponentiate.y * tile.keys_together + keys_to_exponentiate.x;
    const Expr this_score = at_step(score, {row, this_key});
    at_step(weight, {row, key_in_tile}) = Halide::undef<float>();
    if (variant.free_weight) {
        at_step(block_max, {row}) = 0.0f;
        at_step(weight, {row, this_key}) = Halide::select(
            is_masked(this_score), 0.0f, variant.free_weight(values_at(row, this_key, this_score), look_up()));
    } else {
        keys_to_compare = reachable_keys_of_tile("keys_to_compare");
        at_step(block_max, {row}) = minus_infinity();
        at_step(block_max, {row}) = Halide::max(at_step(block_max, {row}), at_step(score, {row, keys_to_compare}));
        at_step(weight, {row, this_key}) = exp_of_nonpositive(this_score - finite_reference(at_step(block_max, {row})));
    }

    keys_to_add = reachable_keys_of_tile("keys_to_add");
    at_step(block_sum, {row}) = 0.0f;
    at_step(block_sum, {row}) += at_step(weight, {row, keys_to_add});

    if (variant.weight_factor) {
        // A weight of 0 stays one, whatever the factor of a masked pair is.
        const Expr plain_weight = at_step(weight, {row, this_key});
        at_step(applied_weight, {row, key_in_tile}) = Halide::undef<float>();
        at_step(applied_weight, {row, this_key}) =
            Halide::select(is_positive_zero(plain_weight), 0.0f,
                           plain_weight * variant.weight_factor(values_at(row, this_key), look_up()));
    }
}

// A weight of 0 does not silence a NaN or an infinity in a masked value, so mixed tiles that hold one are added up with
// a condition on every product.
void softmax_attention::weigh_values() {
    value_elements = RDom(0, variant.value_dim, 0, tile.keys, "value_elements");
    value_elements.where(key_block * tile.keys + value_elements.y < Halide::max(kv_len, 1));
    // The last tile's rows behind the last query take part as others do.
    const Expr rows = divided_up(q_len, positions_of_tile()) * positions_of_tile();
    value_elements.where(classify_queries({key_block * tile.keys, (key_block + 1) * tile.keys - 1}, rows).may &&
                         kv_len > 0);
    const Expr magnitude = magnitude_bits(value_element(value_elements.x, value_elements.y));
    largest_magnitude(key_block) = Halide::cast<uint32_t>(0);
    largest_magnitude(key_block) = Halide::max(largest_magnitude(key_block), magnitude);

    const auto value_at = [&](const Expr &key_offset) {
        return value_element(Halide::clamp(dim, 0, variant.value_dim - 1), key_offset);
    };
    keys_to_weigh = reachable_keys_of_tile("keys_to_weigh");
    keys_to_weigh.where(dim < column_slots());  // the scalar slots of the state have no columns
    at_step(weighted_values, {row, dim}) = 0.0f;
    at_step(weighted_values, {row, dim}) += weight_at(keys_to_weigh) * value_at(keys_to_weigh);

    // The select in `state` already skips this where it is not used, but Halide proves that from `must` alone; the last
    // condition is tested as the loop runs.
    keys_to_weigh_singly = RDom(0, tile.keys, "keys_to_weigh_singly");
    keys_to_weigh_singly.where(dim < column_slots());
    keys_to_weigh_singly.where(!classify(key_block).must);
    keys_to_weigh_singly.where(!values_are_finite(key_block));
    at_step(exposed_values, {row, dim}) = 0.0f;
    at_step(exposed_values, {row, dim}) += Halide::select(
        visible(row, keys_to_weigh_singly), weight_at(keys_to_weigh_singly) * value_at(keys_to_weigh_singly), 0.0f);
}

// The slots of the state are updated in order within a step, so the later ones read what the earlier ones have just
// become (Halide has no other way to carry several values of different extent).
void softmax_attention::carry_state() {
    steps = RDom(0, tile.columns + column_slots(), 0, Halide::max(divided_up(kv_len, tile.keys), 1), "steps");
    steps.where(classify(steps.y).may);
    at(state, {row, slot}) = Halide::select(slot == running_max, minus_infinity(), 0.0f);

    const auto old = [&](const Expr &index) { return at(state, {row, index}); };
    const auto of_step = [&](const Func &f, std::vector<Expr> indices) {
        return at_step(f, std::move(indices), steps.y);
    };
    const Expr this_slot = old(steps.x), step_max = of_step(block_max, {row});
    const Expr new_max = Halide::max(old(running_max), step_max);
    const Expr factor = exp_of_nonpositive(Halide::select(steps.x == rescale_old, old(running_max), step_max) -
                                           finite_reference(new_max));
    const Expr sum = this_slot * old(rescale_old) + of_step(block_sum, {row}) * old(rescale_new);
    const Expr scalar = Halide::select(steps.x <= rescale_new, factor, steps.x == running_max, new_max, sum);

    const Expr column =
        Halide::select(steps.x < tile.columns, column_slots() + steps.x, Halide::likely(steps.x - tile.columns));
    const Expr step_values =
        Halide::select(classify(steps.y).must || values_are_finite(steps.y), of_step(weighted_values, {row, column}),
                       of_step(exposed_values, {row, column}));
    const Expr accumulated = this_slot * old(rescale_old) + step_values * old(rescale_new);
    at(state, {row, steps.x}) = Halide::select(steps.x < tile.columns, scalar, Halide::likely(accumulated));
}

void softmax_attention::write_results() {
    const normalised row_result =
        normalise(at(state, {row, running_max}), at(state, {row, running_sum}), values_at(row, 0));
    at(normaliser, {row}) = row_result.factor;
    at(log_of_total, {row}) = row_result.log_of_total;

    const Expr row_index = position * tile.heads_per_tile + head_in_group % tile.heads_per_tile;
    const auto of_tile = [&](const Func &f, std::vector<Expr> indices) {
        indices.insert(indices.end(), {row_index / tile.rows, head_in_group / tile.heads_per_tile, group, batch});
        return f(indices);
    };
    const Expr result_row = row_index % tile.rows;
    const Expr result = modified_element(
        variant.output_stages, query_element(position, head_in_group),
        [&](const Expr &index) {
            return of_tile(state, {result_row, index + tile.columns}) * of_tile(normaliser, {result_row});
        },
        variant.value_dim, look_up(), [&](const Func &mean) { return mean(head_in_group, position, group, batch); }, {},
        of_outputs);
    output(dim, head_in_group, position, group, batch) = from_float(result, types.output, types.has_f16c);
    log_sum_exp(head_in_group, position, group, batch) = of_tile(log_of_total, {result_row});
}

value_range softmax_attention::range_of(const range_table &table, const Expr &block) const {
    const ImageParam &entries = tables[static_cast<std::size_t>(table.number)].entries;
    const auto entry = [&](int which) {
        return Expr(entries(which, table.by_key ? block : Expr(query_block), head_block, group, batch));
    };
    return {entry(0), entry(1)};
}

std::vector<Func> softmax_attention::table_makers() {
    std::vector<Func> makers;
    const Halide::Var which("which"), block("block");
    for (const tile_table &table : tables) {
        const bool by_key = table.source.by_key;
        const int positions = tile.rows / tile.heads_per_tile;
        const RDom r(0, by_key ? 1 : tile.heads_per_tile, 0, by_key ? tile.keys : positions, "of_tile");
        // The last tile may reach beyond the last query or key.
        const Expr place = block * (by_key ? tile.keys : positions) + r.y;
        const Expr query_row = Halide::clamp(by_key ? Expr(0) : place, 0, Halide::max(q_len, 1) - 1);
        const Expr key_number = Halide::clamp(by_key ? place : Expr(0), 0, last_key());
        const Expr element =
            table.source.element(pair(query_row, key_number, head_block * tile.heads_per_tile + r.x), look_up());
        const auto named = [&](const char *what) { return Func(what + std::to_string(table.source.number)); };
        Func lowest = named("lowest_"), highest = named("highest_"), made = named("tile_table_");
        const std::vector<Halide::Var> place_of_tile{block, head_block, group, batch};
        const std::vector<Expr> tile_index(place_of_tile.begin(), place_of_tile.end());
        lowest(place_of_tile) = table.source.type.max();
        highest(place_of_tile) = table.source.type.min();
        lowest(place_of_tile) = Halide::min(Expr(lowest(tile_index)), element);
        highest(place_of_tile) = Halide::max(Expr(highest(tile_index)), element);
        Expr entry = Halide::select(which == 0, Expr(lowest(tile_index)), Expr(highest(tile_index)));
        if (table.source.type.is_float()) {
            Func largest = named("largest_bits_");
            largest(place_of_tile) = Halide::cast<uint32_t>(0);
            largest(place_of_tile) = Halide::max(Expr(largest(tile_index)), magnitude_bits(element));
            largest.compute_at(made, block);
            entry = Halide::select(is_finite_magnitude(largest(tile_index)), entry, -minus_infinity());
        }
        made(which, block, head_block, group, batch) = entry;
        made.bound(which, 0, 2);
        lowest.compute_at(made, block);
        highest.compute_at(made, block);
        // A kernel that serves one sequence has a batch of its number alone.
        for (int outer = 1; outer < 4; ++outer) made.output_buffer().dim(outer).set_min(0);
        makers.push_back(made);
    }
    return makers;
}

std::vector<Halide::Argument> softmax_attention::table_arguments() const {
    std::vector<Halide::Argument> all = input_arguments();
    all.push_back(q_len);
    all.push_back(kv_len);
    return all;
}

std::vector<Halide::Argument> softmax_attention::arguments() const {
    std::vector<ImageParam> made;
    for (const tile_table &table : tables) made.push_back(table.entries);
    return forward_attention::arguments(made);
}

int softmax_attention::column_slots() const { return rounded_up(variant.value_dim, tile.columns); }

RDom softmax_attention::reachable_keys_of_tile(const char *name) const {
    const value_range reachable = reachable_keys(key_block);
    RDom keys(0, tile.keys, name);
    keys.where(keys >= reachable.lowest);
    keys.where(keys <= reachable.highest);
    return keys;
}

RDom softmax_attention::reachable_groups_of_keys(const char *name) const {
    const value_range reachable = reachable_keys(key_block);
    const int together = tile.keys_together;
    RDom keys(0, together, 0, tile.keys / together, name);
    keys.where(keys.y * together + (together - 1) >= reachable.lowest);
    keys.where(keys.y * together <= reachable.highest);
    return keys;
}

Expr softmax_attention::weight_at(const Expr &key_offset) const {
    return at_step(variant.weight_factor ? applied_weight : weight, {row, key_offset});
}

// Values that are used as they are have one maximum for all tiles of queries; others exist for one of them only.
Halide::FuncRef softmax_attention::largest_magnitude(const Expr &block) const {
    return value_is_plain ? value_bits(block, group, batch) : at_step(value_bits, {}, block);
}

Expr softmax_attention::values_are_finite(const Expr &block) const {
    return is_finite_magnitude(largest_magnitude(block));
}

tile_condition softmax_attention::classify(const Expr &block) const {
    const Expr first_key = block * tile.keys, last_key = first_key + (tile.keys - 1);
    // Loops over keys end with the last one, so the keys that the last tile lacks do not make it a mixed one.
    return {classify(value_range{first_key, last_key}, block).may && kv_len > 0,
            classify(value_range{first_key, Halide::min(last_key, kv_len - 1)}, block).must};
}

// With the number of a tile of keys, what is looked up over it is known from the tables.
tile_condition softmax_attention::classify(const value_range &keys, const Expr &block) const {
    if (!block.defined()) return classify_tile(keys, nullptr);
    return classify_tile(keys, [&](const range_table &table) { return range_of(table, block); });
}

value_range softmax_attention::reachable_keys(const Expr &block) const {
    const Halide::Internal::Interval bounds = keys_where([&](const Expr &key) {
        return classify(value_range{key, key}).may && key < kv_len;
    });
    const Expr first_key = block * tile.keys;
    return {bounds.has_lower_bound() ? bounds.min - first_key : Expr(0),
            bounds.has_upper_bound() ? bounds.max - first_key : Expr(tile.keys - 1)};
}

bool keys_are_plain(const variant_source &variant, const storage_types &types) {
    return variant.key_stages.empty() && types.key == Halide::Float(32) && !types.in_pages;
}

bool values_are_plain(const variant_source &variant, const storage_types &types) {
    return variant.value_stages.empty() && types.value == Halide::Float(32) && !types.in_pages;
}

bool reachable_keys_are_bounded_below(const variant_source &variant) {
    const auto unknown = [](const char *name) { return Halide::Internal::Variable::make(Halide::Int(32), name); };
    const auto read = [&](int input, const std::vector<Expr> &) {
        return Halide::Internal::Variable::make(variant.inputs[input].type, "input_" + std::to_string(input));
    };
    return keys_where([&](const Expr &key) {
               return variant
                   .classify({.q_pos = {unknown("first_position"), unknown("last_position")},
                              .kv_pos = {key, key},
                              .head = {unknown("first_head"), unknown("last_head")},
                              .one_head = false,
                              .batch = unknown("batch"),
                              .q_len = unknown("q_len"),
                              .kv_len = unknown("kv_len"),
                              .q_row = {unknown("first_row"), unknown("last_row")}},
                             read)
                   .may;
           })
        .has_lower_bound();
}

std::vector<range_table> range_tables_of(const variant_source &variant, bool one_head) {
    const Expr zero = 0;
    std::vector<range_table> tables;
    tile_values anywhere;
    anywhere.q_pos = anywhere.kv_pos = anywhere.q_row = anywhere.head = {zero, zero};
    anywhere.one_head = one_head;
    anywhere.batch = anywhere.q_len = anywhere.kv_len = zero;
    anywhere.range_of = [&](const range_table &table) {
        tables.push_back(table);
        return value_range{Halide::Internal::make_zero(table.type), Halide::Internal::make_zero(table.type)};
    };
    variant.classify(anywhere, [&](int input, const std::vector<Expr> &) {
        return Halide::Internal::make_zero(variant.inputs[static_cast<std::size_t>(input)].type);
    });
    return tables;
}

}  // namespace heed::generators
