// SPDX-License-Identifier: MIT
#include "algorithm_weights.hpp"

#include <heed/halide_arithmetic.hpp>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;
using Halide::RDom;

attention_weights::attention_weights(const variant_source &source, const storage_types &stored)
    : attention_algorithm(source, stored),
      query(types.query, 5, "query"),
      key(types.key, 4, "key"),
      weights(types.output, 5, "weights") {
    query_row(dim, head_in_group, position, group, batch) =
        modified_element(
            variant.query_stages, query_element(position, head_in_group),
            [&](const Expr &index) {
                return to_float(query(index, head_in_group, position, group, batch), types.has_f16c);
            },
            variant.head_dim, look_up(), [&](const Func &mean) { return mean(head_in_group, position, group, batch); },
            {}, of_queries) *
        static_cast<float>(variant.scale);

    const element_values of_key = key_element_at(Halide::clamp(kv, 0, last_key()));
    key_row(dim, kv, group, batch) = modified_element(
        variant.key_stages, of_key,
        [&](const Expr &index) { return to_float(key(index, of_key.kv_pos, group, batch), types.has_f16c); },
        variant.head_dim, look_up(), [&](const Func &mean) { return mean(kv, group, batch); }, {}, of_keys);

    head_dims = RDom(0, variant.head_dim, "head_dims");
    product(kv, head_in_group, position, group, batch) = 0.0f;
    product(kv, head_in_group, position, group, batch) +=
        query_row(head_dims, head_in_group, position, group, batch) * key_row(head_dims, kv, group, batch);

    const pair_values here = values_at(kv, product(kv, head_in_group, position, group, batch));
    score(kv, head_in_group, position, group, batch) =
        Halide::select(variant.mask(here, look_up()), variant.score_mod(here, look_up()), masked_score());

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
        variant.free_weight
            ? Halide::select(is_masked(this_score), 0.0f, variant.free_weight(values_at(kv, this_score), look_up()))
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
    weight = Halide::select(is_masked(this_score), 0.0f, weight);
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
    for (const Halide::Argument &input : input_arguments()) all.push_back(input);
    all.push_back(q_len);
    all.push_back(kv_len);
    return all;
}

pair_values attention_weights::values_at(const Expr &key_number, const Expr &scaled_product) const {
    return pair(position, key_number, head_in_group, scaled_product);
}

}  // namespace heed::generators
