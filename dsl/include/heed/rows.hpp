// SPDX-License-Identifier: MIT
//
// The scalar reading of what a variant does to rows of queries, keys, values and results, in double precision.
#pragma once

#include <heed/attends.hpp>
#include <heed/evaluate.hpp>
#include <heed/variant.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace heed {

/// Where a row belongs. Keys and values have kv_pos and group, queries and results the others.
struct row_place {
    std::int64_t batch = 0, head = 0, group = 0, q_pos = 0, q_row = 0, kv_pos = 0, q_len = 0, kv_len = 0;
};

/// Values for the terminals of a row's element, and `read(input, indices...)` for inputs.
template <class Read = no_inputs>
struct row_environment : value_reading {
    const row_place *place;
    const double *row;
    std::int64_t size;
    Read read;
    std::int64_t dim_value = 0;

    row_environment(const row_place &where, const double *elements, std::int64_t count, Read read_input)
        : place(&where), row(elements), size(count), read(read_input) {}

    // clang-format off
    std::int64_t operator()(q_pos_) const { return place->q_pos; }
    std::int64_t operator()(q_row_) const { return place->q_row; }
    std::int64_t operator()(kv_pos_) const { return place->kv_pos; }
    std::int64_t operator()(head_) const { return place->head; }
    std::int64_t operator()(group_) const { return place->group; }
    std::int64_t operator()(batch_) const { return place->batch; }
    std::int64_t operator()(q_len_) const { return place->q_len; }
    std::int64_t operator()(kv_len_) const { return place->kv_len; }
    std::int64_t operator()(dim_) const { return dim_value; }
    // clang-format on

    template <class T>
    static constexpr T constant(T value) {
        return value;
    }

    template <class Input, class... Indices>
    auto lookup(Input input, Indices... indices) const requires requires(const Read &r) {
        r(input, indices...);
    }
    { return scalar_environment<Read>(read).lookup(input, indices...); }

    /// Elements outside of the row are the nearest ones, as in kernels.
    template <class Row>
    double element(Row, std::int64_t index) const {
        return row[index < 0 ? 0 : index >= size ? size - 1 : index];
    }

    template <Expression E>
    double mean_over_dims(const E &of_dim) const {
        double sum = 0;
        for (std::int64_t i = 0; i < size; ++i) sum += at(i, of_dim);
        return sum / static_cast<double>(size);
    }

    template <std::int64_t, Expression E>
    double tabulated(const E &of_dim, std::int64_t index) const {
        return at(index, of_dim);
    }

    template <std::size_t Extent>
    static double constant_element(const std::array<double, Extent> &values, std::int64_t index) {
        const auto last = static_cast<std::int64_t>(Extent) - 1;
        return values[static_cast<std::size_t>(index < 0 ? 0 : index > last ? last : index)];
    }

    template <Expression E>
    double at(std::int64_t index, const E &expression) const {
        row_environment other = *this;
        other.dim_value = index;
        return evaluate(expression, other);
    }
};

/// The row after the stages that `query_stages()`, `key_stages()`, `value_stages()` or `output_stages()` of a variant
/// names.
template <class Stages, class Read = no_inputs>
std::vector<double> modified_row(const Stages &stages, const row_place &place, std::vector<double> row,
                                 Read read = {}) {
    const auto apply = [&](const auto &stage) {
        const auto size = static_cast<std::int64_t>(row.size());
        const row_environment<Read> environment(place, row.data(), size, read);
        std::vector<double> next(row.size());
        for (std::int64_t i = 0; i < size; ++i) next[static_cast<std::size_t>(i)] = environment.at(i, stage);
        row = std::move(next);
    };
    hana::unpack(stages, [&](const auto &...each) { (apply(each), ...); });
    return row;
}

}  // namespace heed
