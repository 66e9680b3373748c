// SPDX-License-Identifier: MIT
#include "algorithm_weights.hpp"

#include <heed/halide_arithmetic.hpp>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;

attention_weights::attention_weights(const variant_source &source, const storage_types &stored)
    : variant(source),
      types(stored),
      query(types.query, 5, "query"),
      key(types.key, 4, "key"),
      weights(types.output, 5, "weights") {
    for (const input_source &input : variant.inputs) inputs.emplace_back(input);
    const Expr last_key = Halide::max(kv_len, 1) - 1;

    element_values of_row;
    of_row.dim = dim;
    of_row.q_row = position;
    of_row.q_pos = query_start() + position;
    of_row.head = group * (variant.heads / variant.groups) + head_in_group;
    of_row.batch = batch;
    of_row.q_len = q_len;
    of_row.kv_len = kv_len;
    query_row(dim, head_in_group, position, group, batch) =
        modified_element(
            variant.query_stages, of_row,
            [&](const Expr &index) {
                return to_float(query(index, head_in_group, position, group, batch), types.has_f16c);
            },
            variant.head_dim, look_up(), [&](const Func &mean) { return mean(head_in_group, position, group, batch); },
            {}, of_queries) *
        static_cast<float>(variant.scale);

    element_values of_key;
    of_key.dim = dim;
    of_key.kv_pos = Halide::clamp(kv, 0, last_key);
    of_key.group = group;
    of_key.batch = batch;
    of_key.q_len = q_len;
    of_key.kv_len = kv_len;
    key_row(dim, kv, group, batch) = modified_element(
        variant.key_stages, of_key,
        [&](const Expr &index) { return to_float(key(index, of_key.kv_pos, group, batch), types.has_f16c); },
        variant.head_dim, look_up(), [&](const Func &mean) { return mean(kv, group, batch); }, {}, of_keys);

    head_dims = RDom(0, variant.head_dim, "head_dims");
    product(kv, head_in_group, position, group, batch) = 0.0f;
    product(kv, head_in_group, position, group, batch) +=
        query_row(head_dims, head_in_group, position, group, batch) * key_row(head_dims, kv, group, batch);

    const pair_values pair = values_at(kv, product(kv, head_in_group, position, group, batch));
    score(kv, head_in_group, position, group, batch) =
        Halide::select(variant.mask(pair, look_up()), variant.score_mod(pair, look_up()), minus_infinity());

    keys = RDom(0, Halide::max(kv_len, 1), "keys");
    keys.where(keys < kv_len);
    const Expr some_score = score(keys, head_in_group, position, group, batch);
    row_max(head_in_group, position, group, batch) = variant.free_weight ? Expr(0.0f) : minus_infinity();
    if (!variant.free_weight) {
        row_max(head_in_group, position, group, batch) =
            Halide::max(row_max(head_in_group, position, group, batch), some_score);
    }
    Expr reference = finite_reference(row_max(head_in_group, position, group, batch));
    if (variant.sink_logit) {
        const Expr sink = variant.sink_logit(values_at(0, Expr()), look_up());
        reference = finite_reference(Halide::max(row_max(head_in_group, position, group, batch), sink));
    }
    const Expr this_score = score(kv, head_in_group, position, group, batch);
    plain_weight(kv, head_in_group, position, group, batch) =
        variant.free_weight ? Halide::select(is_minus_infinity(this_score), 0.0f,
                                             variant.free_weight(values_at(kv, this_score), look_up()))
                            : exp_of_nonpositive(this_score - reference);
    row_sum(head_in_group, position, group, batch) = 0.0f;
    row_sum(head_in_group, position, group, batch) += plain_weight(keys, head_in_group, position, group, batch);

    Expr total = row_sum(head_in_group, position, group, batch);
    // A maximum may lose NaN, the sum does not.
    const Expr nothing_visible =
        is_minus_infinity(row_max(head_in_group, position, group, batch)) && is_positive_zero(total);
    if (variant.sink_logit) {
        total =
            total + arithmetic::exp(arithmetic::tag{}, variant.sink_logit(values_at(0, Expr()), look_up()) - reference);
    }
    // A masked key weighs exactly 0, also in a row with NaN.
    Expr weight = plain_weight(kv, head_in_group, position, group, batch);
    if (!variant.free_weight) weight = weight / total;
    weight = Halide::select(is_minus_infinity(this_score), 0.0f, weight);
    if (variant.weight_factor) {
        weight = Halide::select(is_positive_zero(weight), 0.0f,
                                weight * variant.weight_factor(values_at(kv, Expr()), look_up()));
    }
    weights(kv, head_in_group, position, group, batch) = from_float(weight, types.output, types.has_f16c);
    log_sum_exp(head_in_group, position, group, batch) =
        Halide::select(nothing_visible, minus_infinity(), reference + arithmetic::log(arithmetic::tag{}, total));

    // What the argument check of the runtime guarantees.
    const int heads = variant.heads / variant.groups;
    query.dim(0).set_bounds(0, variant.head_dim).set_stride(1).dim(1).set_bounds(0, heads);
    key.dim(0).set_bounds(0, variant.head_dim).set_stride(1);
    weights.output_buffer().dim(0).set_min(0).set_stride(1);
    weights.output_buffer().dim(1).set_bounds(0, heads);
    log_sum_exp.output_buffer().dim(0).set_bounds(0, heads).set_stride(Expr());
    for (int outer = 1; outer < 4; ++outer) {
        const auto same = weights.output_buffer().dim(outer + 1);
        log_sum_exp.output_buffer().dim(outer).set_bounds(same.min(), same.extent());
    }
}

std::vector<Halide::Argument> attention_weights::arguments() const {
    std::vector<Halide::Argument> all{query, key};
    for (const kernel_input &input : inputs) all.push_back(input.argument());
    all.push_back(q_len);
    all.push_back(kv_len);
    return all;
}

pair_values attention_weights::values_at(const Expr &key_number, const Expr &scaled_product) const {
    return {.score = scaled_product,
            .q_pos = query_start() + position,
            .kv_pos = key_number,
            .head = group * (variant.heads / variant.groups) + head_in_group,
            .batch = batch,
            .q_len = q_len,
            .kv_len = kv_len,
            .q_row = position};
}

input_lookup attention_weights::look_up() const {
    return [this](int input, const std::vector<Expr> &indices) {
        return inputs[static_cast<std::size_t>(input)](indices);
    };
}

Expr attention_weights::query_start() const {
    pair_values values;
    values.batch = batch;
    values.q_len = q_len;
    values.kv_len = kv_len;
    return variant.query_start(values, look_up());
}

}  // namespace heed::generators
