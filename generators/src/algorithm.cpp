// SPDX-License-Identifier: MIT
#include "algorithm.hpp"

#include <heed/halide_arithmetic.hpp>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::RDom;

namespace {

constexpr float log2_e = 1.44269504088896340736f;
constexpr float ln_2 = 0.69314718055994530942f;

Expr ceiling(const Expr &a, int b) { return (a + (b - 1)) / b; }

int rounded_up(int a, int b) { return (a + b - 1) / b * b; }

}  // namespace

softmax_attention::softmax_attention(const variant_source &source, const tile_shape &shape)
    : variant(source),
      tile(shape),
      query(Halide::Float(32), 5, "query"),
      key(Halide::Float(32), 4, "key"),
      value(Halide::Float(32), 4, "value") {
    for (const input_source &input : variant.inputs) {
        inputs.emplace_back(input.type, input.rank, "input_" + input.name);
        if (input.rank > 0) inputs.back().dim(0).set_stride(Expr());  // inputs have free strides throughout
    }

    const int column_slots = rounded_up(variant.value_dim, tile.columns);
    const std::vector<Expr> where{query_block, head_block, group, batch};
    const auto at = [&](const Func &f, std::vector<Expr> indices) {
        indices.insert(indices.end(), where.begin(), where.end());
        return f(indices);
    };
    const auto at_step = [&](const Func &f, std::vector<Expr> indices, const Expr &block) {
        indices.push_back(block);
        return at(f, std::move(indices));
    };
    const tile_condition step_class = classify(key_block);
    // Every loop over the keys of a tile runs over those keys only that some row of the tile may attend to.
    const value_range reachable = reachable_keys(key_block);
    const auto reachable_keys_loop = [&](const char *name) {
        RDom keys(0, tile.keys, name);
        keys.where(keys >= reachable.lowest);
        keys.where(keys <= reachable.highest);
        return keys;
    };

    // Scores. Without score_mod they are computed in units of log 2 from the start, so that the exponential needs no factor.
    const float query_factor = static_cast<float>(variant.scale * (variant.plain_score ? log2_e : 1.0));
    at(query_tile, {row, dim}) =
        query(dim, head_block * tile.heads_per_tile + row % tile.heads_per_tile,
              Halide::min(position_of(row), q_len - 1), group, batch) *
        query_factor;

    head_dims = RDom(0, variant.head_dim, "head_dims");
    at_step(product, {row, key_in_tile}, key_block) = 0.0f;
    at_step(product, {row, key_in_tile}, key_block) +=
        at(query_tile, {row, head_dims}) * key(head_dims, key_index(key_in_tile, key_block), group, batch);

    const Expr scaled = at_step(product, {row, key_in_tile}, key_block);
    at_step(score, {row, key_in_tile}, key_block) =
        variant.plain_score ? scaled : variant.score_mod(values_at(row, key_in_tile, scaled), look_up()) * log2_e;
    keys_to_mask = reachable_keys_loop("keys_to_mask");
    keys_to_mask.where(!step_class.must);
    at_step(score, {row, keys_to_mask}, key_block) =
        Halide::select(visible(row, keys_to_mask), at_step(score, {row, keys_to_mask}, key_block), minus_infinity());

    // Softmax of one step, relative to its own maximum.
    keys_to_compare = reachable_keys_loop("keys_to_compare");
    at_step(block_max, {row}, key_block) = minus_infinity();
    at_step(block_max, {row}, key_block) =
        Halide::max(at_step(block_max, {row}, key_block), at_step(score, {row, keys_to_compare}, key_block));
    at_step(weight, {row, key_in_tile}, key_block) = exp2_of_nonpositive(
        at_step(score, {row, key_in_tile}, key_block) - finite_reference(at_step(block_max, {row}, key_block)));
    keys_to_add = reachable_keys_loop("keys_to_add");
    at_step(block_sum, {row}, key_block) = 0.0f;
    at_step(block_sum, {row}, key_block) += at_step(weight, {row, keys_to_add}, key_block);

    // Weighted values. A weight of 0 does not silence a NaN or an infinity in a masked value, so mixed tiles that hold one
    // are added up with a condition on every product.
    value_elements = RDom(0, variant.value_dim, 0, tile.keys, "value_elements");
    value_elements.where(!step_class.must);
    value_elements.where(value_elements.y >= reachable.lowest);
    value_elements.where(value_elements.y <= reachable.highest);
    at_step(value_bits, {}, key_block) = Halide::cast<uint32_t>(0);
    const Expr bits = Halide::reinterpret<uint32_t>(value(value_elements.x, key_index(value_elements.y, key_block), group, batch));
    at_step(value_bits, {}, key_block) = Halide::max(at_step(value_bits, {}, key_block), bits & Expr(uint32_t(0x7fffffff)));
    const Expr infinity_bits(uint32_t(0x7f800000));
    const auto value_at = [&](const Expr &offset) {
        return value(Halide::clamp(dim, 0, variant.value_dim - 1), key_index(offset, key_block), group, batch);
    };
    keys_to_weigh = reachable_keys_loop("keys_to_weigh");
    // The scalar slots of the state have no columns.
    keys_to_weigh.where(dim < column_slots);
    at_step(weighted_values, {row, dim}, key_block) = 0.0f;
    at_step(weighted_values, {row, dim}, key_block) +=
        at_step(weight, {row, keys_to_weigh}, key_block) * value_at(keys_to_weigh);
    // The select in `state` already skips this where it is not used, but Halide proves that from `must` alone; the second
    // condition is tested as the loop runs.
    keys_to_weigh_singly = reachable_keys_loop("keys_to_weigh_singly");
    keys_to_weigh_singly.where(dim < column_slots);
    keys_to_weigh_singly.where(!step_class.must);
    keys_to_weigh_singly.where(at_step(value_bits, {}, key_block) >= infinity_bits);
    at_step(exposed_values, {row, dim}, key_block) = 0.0f;
    at_step(exposed_values, {row, dim}, key_block) +=
        Halide::select(visible(row, keys_to_weigh_singly),
                       at_step(weight, {row, keys_to_weigh_singly}, key_block) * value_at(keys_to_weigh_singly), 0.0f);
    const auto harmless = [&](const Expr &block) {
        return classify(block).must || at_step(value_bits, {}, block) < infinity_bits;
    };

    // The state carried over the steps. Its slots are updated in order within a step, so the later ones read what the
    // earlier ones have just become (Halide has no other way to carry several values of different extent).
    steps = RDom(0, tile.columns + column_slots, 0, Halide::max(ceiling(kv_len, tile.keys), 1), "steps");
    steps.where(classify(steps.y).may);
    at(state, {row, slot}) = Halide::select(slot == running_max, minus_infinity(), 0.0f);
    {
        const auto old = [&](const Expr &index) { return at(state, {row, index}); };
        const Expr step_max = at_step(block_max, {row}, steps.y);
        const Expr new_max = Halide::max(old(running_max), step_max);
        const Expr reference = finite_reference(new_max);
        const Expr this_slot = old(steps.x);
        const Expr factor = exp2_of_nonpositive(
            Halide::select(steps.x == rescale_old, old(running_max), step_max) - reference);
        const Expr sum = this_slot * old(rescale_old) + at_step(block_sum, {row}, steps.y) * old(rescale_new);
        const Expr scalar = Halide::select(steps.x <= rescale_new, factor, steps.x == running_max, new_max, sum);
        const Expr column = Halide::select(steps.x < tile.columns, column_slots + steps.x, Halide::likely(steps.x - tile.columns));
        const Expr step_values = Halide::select(harmless(steps.y), at_step(weighted_values, {row, column}, steps.y),
                                                at_step(exposed_values, {row, column}, steps.y));
        const Expr accumulated = this_slot * old(rescale_old) + step_values * old(rescale_new);
        at(state, {row, steps.x}) = Halide::select(steps.x < tile.columns, scalar, Halide::likely(accumulated));
    }

    // Results.
    const Expr maximum = at(state, {row, running_max}), sum = at(state, {row, running_sum});
    Expr reference = finite_reference(maximum), factor = 1.0f, total = sum;
    if (variant.sink_logit) {
        reference = finite_reference(Halide::max(maximum, sink()));
        factor = exp2_of_nonpositive(maximum - reference);
        total = sum * factor + exp2_of_nonpositive(sink() - reference);
    }
    // Some key contributes 1, its step's maximum, to the sum, or NaN.
    const Expr nothing_visible = is_positive_zero(sum);
    at(normaliser, {row}) = Halide::select(nothing_visible, 0.0f, factor / total);
    at(log_of_total, {row}) =
        Halide::select(nothing_visible, minus_infinity(), reference * ln_2 + arithmetic::log(arithmetic::tag{}, total));

    const Expr row_of_result = position * tile.heads_per_tile + head_in_group % tile.heads_per_tile;
    const std::vector<Expr> tile_of_result{row_of_result / tile.rows, head_in_group / tile.heads_per_tile, group, batch};
    const auto result_at = [&](const Func &f, std::vector<Expr> indices) {
        indices.insert(indices.end(), tile_of_result.begin(), tile_of_result.end());
        return f(indices);
    };
    const Expr result_row = row_of_result % tile.rows;
    output(dim, head_in_group, position, group, batch) =
        result_at(state, {result_row, dim + tile.columns}) * result_at(normaliser, {result_row});
    log_sum_exp(head_in_group, position, group, batch) = result_at(log_of_total, {result_row});

    const int heads = variant.heads / variant.groups;
    query.dim(0).set_bounds(0, variant.head_dim).set_stride(1).dim(1).set_bounds(0, heads);
    key.dim(0).set_bounds(0, variant.head_dim).set_stride(1);
    value.dim(0).set_bounds(0, variant.value_dim).set_stride(1);
    output.output_buffer().dim(0).set_bounds(0, variant.value_dim).set_stride(1).dim(1).set_bounds(0, heads);
    log_sum_exp.output_buffer().dim(0).set_bounds(0, heads).set_stride(Expr());
    for (int outer = 1; outer < 4; ++outer) {
        const auto same = output.output_buffer().dim(outer + 1);
        log_sum_exp.output_buffer().dim(outer).set_bounds(same.min(), same.extent());
    }
}

std::vector<Halide::Argument> softmax_attention::arguments() const {
    std::vector<Halide::Argument> all{query, key, value};
    all.insert(all.end(), inputs.begin(), inputs.end());
    all.push_back(q_len);
    all.push_back(kv_len);
    return all;
}

Expr softmax_attention::position_of(const Expr &row_index) const {
    return query_block * (tile.rows / tile.heads_per_tile) + row_index / tile.heads_per_tile;
}

Expr softmax_attention::key_index(const Expr &key_offset, const Expr &block) const {
    return Halide::clamp(block * tile.keys + key_offset, 0, Halide::max(kv_len, 1) - 1);
}

Expr softmax_attention::query_start() const {
    pair_values values;
    values.batch = batch;
    values.q_len = q_len;
    values.kv_len = kv_len;
    return variant.query_start(values, look_up());
}

pair_values softmax_attention::values_at(const Expr &row_index, const Expr &key_offset, const Expr &scaled_product) const {
    return {.score = scaled_product,
            .q_pos = query_start() + position_of(row_index),
            .kv_pos = key_block * tile.keys + key_offset,
            .head = group * (variant.heads / variant.groups) + head_block * tile.heads_per_tile +
                    row_index % tile.heads_per_tile,
            .batch = batch,
            .q_len = q_len,
            .kv_len = kv_len};
}

Expr softmax_attention::visible(const Expr &row_index, const Expr &key_offset) const {
    const pair_values values = values_at(row_index, key_offset, Expr());
    return values.kv_pos < kv_len && variant.mask(values, look_up());
}

tile_condition softmax_attention::classify(const Expr &block) const {
    const Expr first_key = block * tile.keys;
    tile_condition condition = classify(value_range{first_key, first_key + (tile.keys - 1)});
    // The steps themselves end with the last key, so `may` needs no such condition.
    condition.must = condition.must && first_key + tile.keys <= kv_len;
    return condition;
}

tile_condition softmax_attention::classify(const value_range &keys) const {
    const int positions = tile.rows / tile.heads_per_tile;
    const Expr first_position = query_start() + query_block * positions;
    const Expr first_head = group * (variant.heads / variant.groups) + head_block * tile.heads_per_tile;
    return variant.classify({.q_pos = {first_position, first_position + (positions - 1)},
.kv_pos = keys,
                                                 .head = {first_head, first_head + (tile.heads_per_tile - 1)},
                                                 .one_head = tile.heads_per_tile == 1,
                                                 .batch = batch,
                                                 .q_len = q_len,
                                                 .kv_len = kv_len},
                                                look_up());
}

value_range softmax_attention::reachable_keys(const Expr &block) const {
    const Expr this_key = Halide::Var("this_key");
    const Expr may = classify(value_range{this_key, this_key}).may && this_key < kv_len;
    const Halide::Internal::Interval bounds = Halide::Internal::solve_for_outer_interval(may, "this_key");
    const Expr first_key = block * tile.keys;
    // Never less than one key, so that regions are not empty without keys; the mask covers that key.
    const Expr lowest = bounds.has_lower_bound() ? Halide::clamp(bounds.min - first_key, 0, tile.keys - 1) : Expr(0);
    const Expr highest =
        bounds.has_upper_bound() ? Halide::clamp(bounds.max - first_key, 0, tile.keys - 1) : Expr(tile.keys - 1);
    return {lowest, highest};
}

input_lookup softmax_attention::look_up() const {
    return [this](int input, const std::vector<Expr> &indices) {
        const ImageParam &source = inputs[input];
        std::vector<Expr> clamped;
        // Innermost first, and never outside: rows and keys that pad the last tile have positions beyond the last one.
        for (int dimension = 0; dimension < source.dimensions(); ++dimension) {
            const Expr index = indices[indices.size() - 1 - dimension];
            clamped.push_back(Halide::clamp(index, 0, source.dim(dimension).extent() - 1));
        }
        return Expr(source(clamped));
    };
}

Expr softmax_attention::sink() const { return variant.sink_logit(values_at(row, 0, Expr()), look_up()) * log2_e; }

}  // namespace heed::generators
