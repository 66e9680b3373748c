// SPDX-License-Identifier: MIT
#include "attention_algorithm.hpp"

#include <heed/halide_arithmetic.hpp>

#include <cmath>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;

namespace {

const int hidden_pair = 0x7fd5a5a5;

}  // namespace

Halide::Internal::Interval keys_where(const std::function<Expr(const Expr &)> &may_attend) {
    const Expr key = Halide::Internal::Variable::make(Halide::Int(32), "this_key");
    return Halide::Internal::solve_for_outer_interval(may_attend(key), "this_key");
}

int product_parts(const variant_source &variant) {
    const int longest = variant.scale * std::sqrt(variant.head_dim) > 1.5 ? 16 : 128;
    const int fewest = (variant.head_dim + longest - 1) / longest;
    for (int parts = fewest; parts <= 2 * fewest; ++parts) {
        if (variant.head_dim % parts == 0) return parts;
    }
    return fewest;
}

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

// e^-inf is 0 as the weight of a hidden pair is. Weights that are no softmax may make something of -inf; for them it is
// a NaN that no operation yields.
Expr attention_algorithm::masked_score() const {
    return variant.free_weight ? Halide::reinterpret<float>(Expr(hidden_pair)) : minus_infinity();
}

Expr attention_algorithm::is_masked(const Expr &score) const {
    return variant.free_weight ? Halide::reinterpret<int>(score) == Expr(hidden_pair) : is_minus_infinity(score);
}

normalised attention_algorithm::normalise(const Expr &maximum, const Expr &sum, const pair_values &of_row) const {
    Expr reference = finite_reference(maximum), factor = 1.0f, total = sum;
    if (variant.sink_logit) {
        const Expr sink = variant.sink_logit(of_row, look_up());
        reference = finite_reference(Halide::max(maximum, sink));
        // A sink far above the scores leaves small outputs, which are to be as exact as any.
        factor = arithmetic::exp(arithmetic::tag{}, maximum - reference);
        total = sum * factor + arithmetic::exp(arithmetic::tag{}, sink - reference);
    }
    // Some key contributes 1, its step's maximum, to the sum, or NaN.
    const Expr nothing_visible = is_positive_zero(sum);
    return {variant.free_weight ? Expr(1.0f) : Halide::select(nothing_visible, 0.0f, factor / total),
            Halide::select(nothing_visible, minus_infinity(), reference + arithmetic::log(arithmetic::tag{}, total))};
}

// Halide's own directive asks for one line in four; this is what it is made of.
Expr attention_algorithm::prefetched(const Halide::ImageParam &tensor, const std::vector<Expr> &place) const {
    Expr offset = Halide::cast<int64_t>(0);
    for (int i = 0; i < tensor.dimensions(); ++i) {
        offset += Halide::cast<int64_t>(place[static_cast<std::size_t>(i)] - tensor.dim(i).min()) *
                  Halide::cast<int64_t>(tensor.dim(i).stride());
    }
    const Expr first = Halide::Internal::Variable::make(Halide::Handle(), tensor.name(), tensor.parameter());
    // The type counts for its size alone; as a whole number it is no business of the emulation of f16.
    return Halide::cast<float>(Halide::Internal::Call::make(Halide::UInt(tensor.type().bits()),
                                                            Halide::Internal::Call::prefetch, {first, offset, 1, 1},
                                                            Halide::Internal::Call::Intrinsic));
}

std::vector<Halide::Argument> attention_algorithm::input_arguments() const {
    std::vector<Halide::Argument> all;
    for (const kernel_input &input : inputs) all.push_back(input.argument());
    return all;
}

forward_attention::forward_attention(const variant_source &source, const storage_types &stored)
    : attention_algorithm(source, stored),
      query(types.in_memory(types.query), 5, "query"),
      key(types.in_memory(types.key), 4, "key"),
      value(types.in_memory(types.value), 4, "value"),
      output(types.in_memory(types.output), 5, "output") {
    if (types.key == Halide::Int(8)) key_scale = Halide::ImageParam(Halide::Float(32), 3, "key_scale");
    if (types.value == Halide::Int(8)) value_scale = Halide::ImageParam(Halide::Float(32), 3, "value_scale");
    if (types.in_pages) pages = Halide::ImageParam(Halide::Int(32), 1, "pages");
}

std::vector<Halide::Argument> forward_attention::arguments(const std::vector<Halide::ImageParam> &tables) const {
    std::vector<Halide::Argument> all{query, key, value};
    for (const Halide::ImageParam &of_cache : {key_scale, value_scale, pages}) {
        if (of_cache.defined()) all.push_back(of_cache);
    }
    for (const Halide::Argument &input : input_arguments()) all.push_back(input);
    for (const Halide::ImageParam &table : tables) all.push_back(table);
    all.push_back(q_len);
    all.push_back(kv_len);
    return all;
}

// A function of the runtime, for many lines at once and for the second cache.
Expr forward_attention::values_read_ahead(const Expr &first_row, int rows) const {
    const auto buffer_of = [](const Halide::ImageParam &tensor) {
        return Halide::Internal::Variable::make(Halide::type_of<halide_buffer_t *>(), tensor.name() + ".buffer",
                                                tensor.parameter());
    };
    const auto call = [](const char *function, const std::vector<Expr> &arguments) {
        return Halide::Internal::Call::make(Halide::Float(32), function, arguments, Halide::Internal::Call::Extern);
    };
    if (types.in_pages) {
        return call("heed_read_ahead_in_pages",
                    {buffer_of(value), buffer_of(pages), first_row, group, rows, variant.value_dim});
    }
    return call("heed_read_ahead", {buffer_of(value), first_row, group, batch, rows, variant.value_dim});
}

// Divisions of whole numbers come one by one, those of floats in vectors. The quotient is off by one at most, next to
// multiples of the divisor. The runtime has checked the pages.
forward_attention::row_place forward_attention::place_of(const Expr &kv_pos) const {
    if (!types.in_pages) return {kv_pos, batch};
    const Expr page_size = key.dim(1).extent();
    const Expr near = Halide::cast<int>(Halide::cast<double>(kv_pos) * (Expr(1.0) / Halide::cast<double>(page_size)));
    const Expr rest = kv_pos - near * page_size;
    const Expr block = near + Halide::select(rest < 0, -1, Halide::select(rest >= page_size, 1, 0));
    const Expr token = rest + Halide::select(rest < 0, page_size, Halide::select(rest >= page_size, -page_size, 0));
    const auto within = [](const Expr &index, const Expr &extent) { return Halide::clamp(index, 0, extent - 1); };
    return {within(token, page_size), within(pages(within(block, pages.dim(0).extent())), key.dim(3).extent())};
}

Expr forward_attention::scale_of_key(const row_place &place) const {
    return key_scale.defined() ? Expr(key_scale(place.row, group, place.outer)) : Expr();
}

Expr forward_attention::scale_of_value(const row_place &place) const {
    return value_scale.defined() ? Expr(value_scale(place.row, group, place.outer)) : Expr();
}

Expr forward_attention::stored_key(const Expr &index, const Expr &kv_pos) const {
    const row_place place = place_of(kv_pos);
    const Expr element = to_float(key(index, place.row, group, place.outer), types.key, types.has_f16c);
    const Expr scale = scale_of_key(place);
    return scale.defined() ? element * scale : element;
}

Expr forward_attention::stored_value(const Expr &index, const Expr &kv_pos) const {
    const row_place place = place_of(kv_pos);
    const Expr element = to_float(value(index, place.row, group, place.outer), types.value, types.has_f16c);
    const Expr scale = scale_of_value(place);
    return scale.defined() ? element * scale : element;
}

Expr forward_attention::modified_key(const Expr &kv_pos, const number_of_row &of_row) {
    return modified_element(
        variant.key_stages, key_element_at(kv_pos), [&](const Expr &index) { return stored_key(index, kv_pos); },
        variant.head_dim, look_up(), of_row, {{table_row}, table_row, {kv_pos}}, of_keys);
}

Expr forward_attention::modified_value(const Expr &kv_pos, const number_of_row &of_row) {
    return modified_element(
        variant.value_stages, key_element_at(kv_pos), [&](const Expr &index) { return stored_value(index, kv_pos); },
        variant.value_dim, look_up(), of_row, {{table_row}, table_row, {kv_pos}}, of_values);
}

tile_condition forward_attention::classify_queries(const value_range &keys, const Expr &count) const {
    const Expr first_position = query_start(), first_head = head(0);
    return variant.classify({.q_pos = {first_position, first_position + (count - 1)},
                             .kv_pos = keys,
                             .head = {first_head, first_head + (heads_in_group() - 1)},
                             .one_head = heads_in_group() == 1,
                             .batch = batch,
                             .q_len = q_len,
                             .kv_len = kv_len,
                             .q_row = {Expr(0), count - 1},
                             .range_of = nullptr},
                            look_up());
}

void forward_attention::pin_layouts() {
    query.dim(0).set_bounds(0, variant.head_dim).set_stride(1).dim(1).set_bounds(0, heads_in_group());
    key.dim(0).set_stride(1);
    value.dim(0).set_stride(1);
    for (Halide::ImageParam scale : {key_scale, value_scale}) {
        if (scale.defined()) scale.dim(0).set_stride(Expr());
    }
    // The first dimension of a cache spans all of its elements.
    if (!types.in_pages) {
        key.dim(0).set_bounds(0, variant.head_dim);
        value.dim(0).set_bounds(0, variant.value_dim);
    } else {
        for (const int outer : {1, 3}) {
            value.dim(outer).set_bounds(0, key.dim(outer).extent());
            key.dim(outer).set_min(0);
            for (Halide::ImageParam scale : {key_scale, value_scale}) {
                if (scale.defined()) scale.dim(outer - 1).set_bounds(0, key.dim(outer).extent());
            }
        }
        pages.dim(0).set_min(0).set_stride(1);
    }
    output.output_buffer().dim(0).set_bounds(0, variant.value_dim).set_stride(1).dim(1).set_bounds(0, heads_in_group());
    log_sum_exp.output_buffer().dim(0).set_bounds(0, heads_in_group()).set_stride(Expr());
    for (int outer = 1; outer < 4; ++outer) {
        const auto same = output.output_buffer().dim(outer + 1);
        log_sum_exp.output_buffer().dim(outer).set_bounds(same.min(), same.extent());
    }
}

}  // namespace heed::generators
