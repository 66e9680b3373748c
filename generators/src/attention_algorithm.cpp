// SPDX-License-Identifier: MIT
#include "attention_algorithm.hpp"

namespace heed::generators {

using Halide::Expr;

attention_algorithm::attention_algorithm(const variant_source &source, const storage_types &stored)
    : variant(source), types(stored) {
    for (const input_source &input : variant.inputs) inputs.emplace_back(input);
}

input_lookup attention_algorithm::look_up() const {
    return [this](int input, const std::vector<Expr> &indices) {
        return inputs[static_cast<std::size_t>(input)](indices);
    };
}

Expr attention_algorithm::query_start() const {
    pair_values values;
    values.batch = batch;
    values.q_len = q_len;
    values.kv_len = kv_len;
    return variant.query_start(values, look_up());
}

Expr attention_algorithm::last_key() const { return Halide::max(kv_len, 1) - 1; }

Expr attention_algorithm::head(const Expr &head_in_group) const {
    return group * (variant.heads / variant.groups) + head_in_group;
}

element_values attention_algorithm::query_element(const Expr &q_row, const Expr &head_in_group) const {
    element_values values;
    values.dim = dim;
    values.q_row = q_row;
    values.q_pos = query_start() + q_row;
    values.head = head(head_in_group);
    values.batch = batch;
    values.q_len = q_len;
    values.kv_len = kv_len;
    return values;
}

element_values attention_algorithm::key_element_at(const Expr &kv_pos) const {
    element_values values;
    values.dim = dim;
    values.kv_pos = kv_pos;
    values.group = group;
    values.batch = batch;
    values.q_len = q_len;
    values.kv_len = kv_len;
    return values;
}

pair_values attention_algorithm::pair(const Expr &q_row, const Expr &kv_pos, const Expr &head_in_group,
                                      const Expr &score) const {
    return {.score = score,
            .q_pos = query_start() + q_row,
            .kv_pos = kv_pos,
            .head = head(head_in_group),
            .batch = batch,
            .q_len = q_len,
            .kv_len = kv_len,
            .q_row = q_row};
}

std::vector<Halide::Argument> attention_algorithm::input_arguments() const {
    std::vector<Halide::Argument> all;
    for (const kernel_input &input : inputs) all.push_back(input.argument());
    return all;
}

}  // namespace heed::generators
