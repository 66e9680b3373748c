// SPDX-License-Identifier: MIT
#include "algorithm_gpu.hpp"

#include <heed/halide_arithmetic.hpp>

#include <utility>

#include "arithmetic.hpp"
#include "whole_numbers.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;

namespace {

/// The same condition, which Halide's bounds inference learns nothing from: it would make the size of shared memory
/// depend on data, with checks inside of the kernel.
Expr hidden(const Expr &condition) { return Halide::reinterpret<int>(Halide::select(condition, 0.0f, 1.0f)) == 0; }

constexpr int elements_together = 4;

}  // namespace

gpu_attention::gpu_attention(const variant_source &source, const gpu_tile_shape &shape, const storage_types &stored,
                             std::function<Expr(const Expr &)> exponential)
    : tiled_attention(source, stored, {shape.rows, shape.keys, shape.heads_per_tile}),
      tile(shape),
      exponential_(std::move(exponential)) {
    read_queries();
    read_keys_and_values();
    compute_scores();
    compute_weights();
    weigh_values();
    carry_state();
    if (tile.steps_of_part > 0) merge_parts();
    write_results();
    pin_layouts();
    // The runtime copies to the device what does not lie so: threads then load four elements at once.
    for (const auto &[tensor, row_size] : {std::pair(key, variant.head_dim), std::pair(value, variant.value_dim)}) {
        if (row_size % elements_together != 0) continue;
        Halide::ImageParam pinned = tensor;
        pinned.set_host_alignment(elements_together * pinned.type().bytes());
        pinned.dim(1).set_min(0);
        for (int outer = 1; outer < 4; ++outer) {
            pinned.dim(outer).set_stride(pinned.dim(outer).stride() / elements_together * elements_together);
        }
    }
}

void gpu_attention::read_queries() {
    const Expr query_row = Halide::clamp(position_of(row), 0, q_len - 1);
    Func changed_queries("changed_queries");
    changed_queries(dim, head_in_group, position, group, batch) =
        modified_element(
            variant.query_stages, query_element(position, head_in_group),
            [&](const Expr &index) {
                return to_float(query(index, head_in_group, position, group, batch), types.query, types.has_f16c);
            },
            variant.head_dim, look_up(), [&](const Func &mean) { return mean(head_in_group, position, group, batch); },
            {{table_row, batch}, query_start() + table_row, {position, batch}}, of_queries) *
        static_cast<float>(variant.scale);
    at(query_tile, {row, dim}) = changed_queries(dim, head_of(row), query_row, group, batch);
}

void gpu_attention::read_keys_and_values() {
    const auto of_key = [&](const Func &mean) { return mean(kv_pos, group, batch); };
    const Expr in_tile = key_index(key_in_tile), reachable_in_tile = reachable_key(in_tile);
    if (!variant.key_stages.empty()) {
        changed_keys = Func("changed_keys");
        changed_keys(dim, kv_pos, group, batch) = modified_key(kv_pos, of_key);
    }
    if (!variant.value_stages.empty()) {
        changed_values = Func("changed_values");
        changed_values(dim, kv_pos, group, batch) = modified_value(kv_pos, of_key);
    }
    key_tile(dim, key_in_tile, key_block, group, batch) =
        changed_keys.defined() ? Expr(changed_keys(dim, reachable_in_tile, group, batch)) : stored_key(dim, in_tile);

    const int last_column = variant.value_dim - 1;
    const bool is_padded = tile.slices * columns_of_slice() > variant.value_dim;
    const Expr element = is_padded ? Halide::clamp(column, 0, last_column) : Expr(column);
    value_tile(column, key_in_tile, key_block, group, batch) =
        changed_values.defined() ? Expr(changed_values(element, reachable_in_tile, group, batch))
                                 : stored_value(element, in_tile);
}

// Only these are changed, so a window costs as little at any length. A key beyond them is masked, whatever stands in
// its place. Where the reach depends on an input, all keys are changed.
Expr gpu_attention::reachable_key(const Expr &key_position) const {
    const Halide::Internal::Interval reachable = keys_where([&](const Expr &some_key) {
        return classify_all_queries({some_key, some_key}).may;
    });
    const Expr lowest = reachable.has_lower_bound() ? Halide::clamp(reachable.min, 0, last_key()) : Expr(0);
    const Expr highest = reachable.has_upper_bound() ? Halide::clamp(reachable.max, lowest, last_key()) : last_key();
    return Halide::clamp(key_position, lowest, highest);
}

void gpu_attention::compute_scores() {
    const auto product_at = [&](const Expr &element) {
        return at(query_tile, {row, element}) * key_tile(element, key_in_tile, key_block, group, batch);
    };
    const int parts = product_parts(variant), dims_of_part = divided_up(variant.head_dim, parts);
    head_dims = RDom(0, dims_of_part, "head_dims");
    at_step(product, {key_in_tile, row}) = 0.0f;
    if (parts == 1) {
        at_step(product, {key_in_tile, row}) += product_at(head_dims);
    } else {
        const Expr element = head_part * dims_of_part + head_dims;
        if (variant.head_dim % parts != 0) head_dims.where(element < variant.head_dim);
        partial_product = Func("partial_product");
        at_step(partial_product, {key_in_tile, row, head_part}) = 0.0f;
        at_step(partial_product, {key_in_tile, row, head_part}) += product_at(element);
        head_parts = RDom(0, parts, "head_parts");
        at_step(product, {key_in_tile, row}) += at_step(partial_product, {key_in_tile, row, head_parts});
    }
    at_step(seen_score, {key_in_tile, row}) =
        variant.score_mod(values_at(row, key_in_tile, at_step(product, {key_in_tile, row})), look_up());
    // One branch of the whole block, which a tile that is proved to be seen does not take.
    not_all_seen = RDom(0, 1, "not_all_seen");
    not_all_seen.where(hidden(!classify(key_block).must));
    at_step(seen_score, {key_in_tile, row}) = Halide::select(hidden(visible(row, key_in_tile + not_all_seen)),
                                                             at_step(seen_score, {key_in_tile, row}), masked_score());
    at_step(score, {key_in_tile, row}) = at_step(seen_score, {key_in_tile, row});
}

// Softmax of one step, relative to its own maximum; or weights that need no maximum.
void gpu_attention::compute_weights() {
    const Expr this_score = at_step(score, {key_in_tile, row});
    Expr this_weight;
    if (variant.free_weight) {
        at_step(block_max, {row}) = 0.0f;
        this_weight = variant.free_weight(values_at(row, key_in_tile, this_score), look_up());
    } else {
        keys_to_compare = RDom(0, tile.keys, "keys_to_compare");
        at_step(maximum_of_row, {row}) = minus_infinity();
        at_step(maximum_of_row, {row}) =
            Halide::max(at_step(maximum_of_row, {row}), at_step(score, {keys_to_compare, row}));
        at_step(block_max, {row}) = at_step(maximum_of_row, {row});
        this_weight = exponential_(this_score - finite_reference(at_step(block_max, {row})));
    }
    at_step(weight, {key_in_tile, row}) = Halide::select(is_masked(this_score), 0.0f, this_weight);

    keys_to_add = RDom(0, tile.keys, "keys_to_add");
    at_step(sum_of_row, {row}) = 0.0f;
    at_step(sum_of_row, {row}) += at_step(weight, {keys_to_add, row});
    at_step(block_sum, {row}) = at_step(sum_of_row, {row});

    if (variant.weight_factor) {
        // A weight of 0 stays one, whatever the factor of a masked pair is.
        const Expr plain_weight = at_step(weight, {key_in_tile, row});
        at_step(applied_weight, {key_in_tile, row}) =
            Halide::select(is_positive_zero(plain_weight), 0.0f,
                           plain_weight * variant.weight_factor(values_at(row, key_in_tile), look_up()));
    }
}

// A weight of 0 does not silence a NaN or an infinity in the value of a masked key. Any in a value shows in the sum,
// whatever its weight is; the row's sums are then made again, of visible keys only. So values are read once, and looked
// at no more than that.
void gpu_attention::weigh_values() {
    const int columns = columns_of_slice();
    const auto product_of = [&](const Expr &key_offset) {
        const Expr key_weight = at_step(variant.weight_factor ? applied_weight : weight, {key_offset, row});
        return key_weight * value_tile(slice * columns + column_of_slice, key_offset, key_block, group, batch);
    };
    const std::vector<Expr> place{column_of_slice, slice, row};
    keys_to_weigh = RDom(0, tile.keys, "keys_to_weigh");
    at_step(sum_of_all, place) = 0.0f;
    at_step(sum_of_all, place) += product_of(keys_to_weigh);

    Expr largest = magnitude_bits(at_step(sum_of_all, {0, slice, row}));
    for (int i = 1; i < columns; ++i) {
        largest = Halide::max(largest, magnitude_bits(at_step(sum_of_all, {i, slice, row})));
    }
    keys_to_redo = RDom(0, tile.keys, "keys_to_redo");
    keys_to_redo.where(hidden(!is_finite_magnitude(largest)));
    at_step(weighted_values, place) = at_step(sum_of_all, place);
    at_step(weighted_values, place) =
        Halide::select(keys_to_redo == 0, 0.0f, at_step(weighted_values, place)) +
        Halide::select(hidden(visible(row, keys_to_redo)), product_of(keys_to_redo), 0.0f);
}

void gpu_attention::carry_state() {
    const bool in_parts = tile.steps_of_part > 0;
    steps = RDom(0, in_parts ? Expr(tile.steps_of_part) : blocks(), "steps");
    const Expr block = in_parts ? Expr(part * tile.steps_of_part + steps) : Expr(steps);
    const Expr there_is_one = in_parts ? block < blocks() : Halide::Internal::const_true();
    steps.where(hidden(classify(block).may && there_is_one && kv_len > 0));
    const int columns = columns_of_slice();
    std::vector<Expr> first(static_cast<std::size_t>(slots_of_slice()), Expr(0.0f));
    first[0] = minus_infinity();
    at(state, of_part({slice, row})) = Halide::Tuple(first);

    const Halide::FuncRef old = at(state, of_part({slice, row}));
    const Expr step_max = at_step(block_max, {row}, block);
    const Expr new_max = Halide::max(old[0], step_max), reference = finite_reference(new_max);
    const Expr of_old = exponential_(old[0] - reference), of_new = exponential_(step_max - reference);
    std::vector<Expr> next{new_max, old[1] * of_old + at_step(block_sum, {row}, block) * of_new};
    for (int i = 0; i < columns; ++i) {
        next.push_back(old[2 + i] * of_old + at_step(weighted_values, {i, slice, row}, block) * of_new);
    }
    at(state, of_part({slice, row})) = Halide::Tuple(next);

    std::vector<Expr> slots;
    slots.reserve(static_cast<std::size_t>(slots_of_slice()));
    for (int i = 0; i < slots_of_slice(); ++i) slots.push_back(at(state, of_part({slice, row}))[i]);
    at(accumulated, of_part({row, slot, slice})) = Halide::mux(slot, slots);
}

// A part without a key that is seen has the maximum -inf, and the weight 0.
void gpu_attention::merge_parts() {
    const auto of_result = [&](const Func &f, std::vector<Expr> indices) {
        indices.insert(indices.end(), {head_in_group, position, group, batch});
        return f(indices);
    };
    const auto all_parts = [&](const char *name) { return RDom(0, divided_up(blocks(), tile.steps_of_part), name); };
    row_max = Func("row_max");
    parts_to_compare = all_parts("parts_to_compare");
    of_result(row_max, {}) = minus_infinity();
    of_result(row_max, {}) = Halide::max(of_result(row_max, {}), accumulated_by(0, 0, parts_to_compare));
    parts_to_add = all_parts("parts_to_add");
    const Expr part_weight =
        exponential_(accumulated_by(0, 0, parts_to_add) - finite_reference(of_result(row_max, {})));
    const Expr part_sum = accumulated_by(1, 0, parts_to_add) * part_weight;
    row_sum = Func("row_sum");
    of_result(row_sum, {}) = 0.0f;
    of_result(row_sum, {}) += part_sum;
    merged = Func("merged");
    of_result(merged, {dim}) = Halide::Tuple(0.0f, 0.0f);
    of_result(merged, {dim}) =
        Halide::Tuple(of_result(merged, {dim})[0] + part_sum,
                      of_result(merged, {dim})[1] + accumulated_column(dim, parts_to_add) * part_weight);
}

Expr gpu_attention::accumulated_by(const Expr &which_slot, const Expr &which_slice, const Expr &which_part) const {
    const int heads = tile.heads_per_tile, positions = positions_of_tile();
    const Expr row_of_tile = position % positions * heads + head_in_group % heads;
    std::vector<Expr> place = of_part({row_of_tile, which_slot, which_slice}, which_part);
    place.insert(place.end(), {position / positions, head_in_group / heads, group, batch});
    return accumulated(place);
}

Expr gpu_attention::accumulated_column(const Expr &index, const Expr &which_part) const {
    const int columns = columns_of_slice();
    return accumulated_by(2 + index % columns, index / columns, which_part);
}

void gpu_attention::write_results() {
    const bool in_parts = merged.defined();
    const std::vector<Expr> of_row{head_in_group, position, group, batch};
    const std::vector<Expr> of_element{dim, head_in_group, position, group, batch};
    const auto normalised_by = [&](const Expr &sum) {
        return normalise(in_parts ? Expr(row_max(of_row)) : accumulated_by(0, 0, 0), sum,
                         pair(position, 0, head_in_group));
    };
    normalised_values(dim, head_in_group, position, group, batch) =
        in_parts ? merged(of_element)[1] * normalised_by(merged(of_element)[0]).factor
                 : accumulated_column(dim, 0) * normalised_by(accumulated_by(1, 0, 0)).factor;
    const Expr element = modified_element(
        variant.output_stages, query_element(position, head_in_group),
        [&](const Expr &index) { return normalised_values(index, head_in_group, position, group, batch); },
        variant.value_dim, look_up(), [&](const Func &mean) { return mean(head_in_group, position, group, batch); }, {},
        of_outputs);
    output(dim, head_in_group, position, group, batch) =
        types.output == Halide::Float(32) ? element : bits_from_float(element, types.output, types.has_f16c);
    log_sum_exp(head_in_group, position, group, batch) =
        normalised_by(in_parts ? Expr(row_sum(of_row)) : accumulated_by(1, 0, 0)).log_of_total;
}

// A pass over what is looked up, before the main kernel.
value_range gpu_attention::range_of(const range_table &table, const Expr &block) {
    const std::size_t number = static_cast<std::size_t>(table.number);
    if (number >= ranges.size()) {
        const Halide::Var some_block("block");
        const int length = table.by_key ? tile.keys : positions_of_tile();
        const RDom r(0, length, 0, table.by_key ? 1 : tile.heads_per_tile, "of_tile");
        // The last tile may reach beyond the last query or key.
        const Expr place = some_block * length + r.x;
        const Expr query_row = table.by_key ? Expr(0) : Halide::clamp(place, 0, Halide::max(q_len, 1) - 1);
        const Expr key_number = table.by_key ? Halide::clamp(place, 0, last_key()) : Expr(0);
        const Expr element =
            table.element(pair(query_row, key_number, head_block * tile.heads_per_tile + r.y), look_up());
        Func range("range_" + std::to_string(number));
        const std::vector<Halide::Var> place_of_tile{some_block, head_block, group, batch};
        const bool is_real = table.type.is_float();
        std::vector<Expr> first{table.type.max(), table.type.min()};
        if (is_real) first.push_back(Expr(uint32_t(0)));
        range(place_of_tile) = Halide::Tuple(first);
        const std::vector<Expr> index(place_of_tile.begin(), place_of_tile.end());
        std::vector<Expr> next{Halide::min(Expr(range(index)[0]), element),
                               Halide::max(Expr(range(index)[1]), element)};
        if (is_real) next.push_back(Halide::max(Expr(range(index)[2]), magnitude_bits(element)));
        range(place_of_tile) = Halide::Tuple(next);
        ranges.push_back(range);
    }
    const Halide::FuncRef entry =
        ranges[number](std::vector<Expr>{table.by_key ? block : Expr(query_block), head_block, group, batch});
    if (!table.type.is_float()) return {entry[0], entry[1]};
    const Expr is_finite = is_finite_magnitude(entry[2]);
    return {Halide::select(is_finite, entry[0], -minus_infinity()),
            Halide::select(is_finite, entry[1], -minus_infinity())};
}

int gpu_attention::columns_of_slice() const { return divided_up(variant.value_dim, tile.slices); }

std::vector<Expr> gpu_attention::of_part(std::vector<Expr> indices, const Expr &which_part) const {
    if (tile.steps_of_part > 0) indices.push_back(which_part.defined() ? which_part : Expr(part));
    return indices;
}

Expr gpu_attention::blocks() const { return Halide::max(divided_up(kv_len, tile.keys), 1); }

tile_condition gpu_attention::classify(const Expr &block) {
    const Expr first_key = block * tile.keys, last_key_of_tile = first_key + (tile.keys - 1);
    const tile_condition known =
        classify_tile({first_key, last_key_of_tile}, [&](const range_table &table) { return range_of(table, block); });
    return {known.may, known.must && last_key_of_tile < kv_len};
}

}  // namespace heed::generators
