// SPDX-License-Identifier: MIT
#include "algorithm_append.hpp"

#include <string>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;
using Halide::Func;

append_to_cache::append_to_cache(const variant_source &source, const storage_types &stored)
    : attention_algorithm(source, stored),
      key_rows(types.query, 4, "key_rows"),
      value_rows(types.query, 4, "value_rows") {
    store(keys, "key", key_rows, variant.key_stages, variant.head_dim, types.key);
    store(values, "value", value_rows, variant.value_stages, variant.value_dim, types.value);
}

// Elements of type i8 are symmetric: whole numbers from -127 to 127, times the largest magnitude of the row over 127.
// Where that is not finite the whole row becomes NaN, as do then the scores of its token.
void append_to_cache::store(stored_rows &rows, const std::string &name, const Halide::ImageParam &from,
                            const std::vector<row_stage> &stages, int row_size, const Halide::Type &type) {
    rows.row_size = row_size;
    rows.modified = Func("modified_" + name);
    rows.elements = Func(name);
    rows.modified(dim, token, group, batch) = modified_element(
        stages, key_element_at(token),
        [&](const Expr &index) { return to_float(from(index, token, group, batch), types.has_f16c); }, row_size,
        look_up(), [&](const Func &mean) { return mean(token, group, batch); }, {{table_token}, table_token, {token}},
        rows.parts);
    const Expr element = rows.modified(dim, token, group, batch);
    if (type == Halide::Int(8)) {
        const float largest_number = 127.0f;
        rows.largest = Func("largest_" + name);
        rows.scale = Func(name + "_scale");
        rows.dims = Halide::RDom(0, row_size, "dims_of_" + name);
        rows.largest(token, group, batch) = Halide::cast<uint32_t>(0);
        rows.largest(token, group, batch) = Halide::max(rows.largest(token, group, batch),
                                                        magnitude_bits(rows.modified(rows.dims, token, group, batch)));
        const Expr largest_bits = rows.largest(token, group, batch), is_finite = is_finite_magnitude(largest_bits);
        const Expr scale = Halide::reinterpret<float>(largest_bits) / largest_number;
        rows.scale(token, group, batch) = Halide::reinterpret<float>(
            Halide::select(is_finite, Halide::reinterpret<uint32_t>(scale), Expr(uint32_t(0x7fc00000))));
        // Ties go to even numbers, as the conversions of processors have it.
        const Expr number = Halide::round((element / Halide::reinterpret<float>(largest_bits)) * largest_number);
        const Expr has_number = is_finite && largest_bits > Expr(uint32_t(0));
        rows.elements(dim, token, group, batch) = Halide::cast<int8_t>(
            Halide::clamp(Halide::select(has_number, number, 0.0f), -largest_number, largest_number));
    } else {
        rows.elements(dim, token, group, batch) = from_float(element, type, types.has_f16c);
    }
    Halide::ImageParam(from).dim(0).set_bounds(0, row_size).set_stride(1);
    rows.elements.output_buffer().dim(0).set_bounds(0, row_size).set_stride(1);
    if (rows.scale.defined()) rows.scale.output_buffer().dim(0).set_stride(Expr());
    // All results are of the same tokens.
    for (const int outer : {1, 2, 3}) {
        const auto same = keys.elements.output_buffer().dim(outer);
        if (&rows != &keys) rows.elements.output_buffer().dim(outer).set_bounds(same.min(), same.extent());
        if (rows.scale.defined()) rows.scale.output_buffer().dim(outer - 1).set_bounds(same.min(), same.extent());
    }
}

std::vector<Halide::Argument> append_to_cache::arguments() const {
    std::vector<Halide::Argument> all{key_rows, value_rows};
    for (const Halide::Argument &input : input_arguments()) all.push_back(input);
    all.push_back(q_len);
    all.push_back(kv_len);
    return all;
}

std::vector<Func> append_to_cache::results() const {
    std::vector<Func> all{keys.elements, values.elements};
    for (const stored_rows *rows : {&keys, &values}) {
        if (rows->scale.defined()) all.push_back(rows->scale);
    }
    return all;
}

}  // namespace heed::generators
