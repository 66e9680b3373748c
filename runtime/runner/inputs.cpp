// SPDX-License-Identifier: MIT
#include "inputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "random.hpp"

namespace heed::runner {

namespace {

std::int64_t extent_of(const variant_description &variant, const call_sizes &sizes, int input, int dimension) {
    const index_range range = variant.readings.input_index(sizes, input, dimension);
    if (range.known) return std::max<std::int64_t>(range.highest + 1, 0);
    return std::max({sizes.q_len, sizes.kv_len, sizes.batch, static_cast<std::int64_t>(variant.heads)}) + 1;
}

std::int32_t integer_value(integer_fill fill, const call_sizes &sizes, random_source &random) {
    switch (fill) {
        case integer_fill::lengths:
            return static_cast<std::int32_t>(random.integer(0, sizes.kv_len));
        case integer_fill::labels:
            return static_cast<std::int32_t>(random.integer(0, 3));
        case integer_fill::extremes:
            return static_cast<std::int32_t>(random.integer(0, 1) * sizes.kv_len);
    }
    return 0;
}

input_table make_table(const variant_description &variant, const call_sizes &sizes, int input, integer_fill fill,
                       random_source &random) {
    const input_description &description = variant.inputs[input];
    std::vector<std::int64_t> extents;
    for (int i = 0; i < description.rank; ++i) extents.push_back(extent_of(variant, sizes, input, i));
    input_table table{description.type, row_major_layout(extents), {}, {}};
    const auto count = static_cast<std::size_t>(table.shape.element_count());
    // One element more than the shape holds: an empty table has an address, too.
    if (description.type == data_type::f32) {
        for (std::size_t i = 0; i <= count; ++i) table.reals.push_back(static_cast<float>(2.0 * random.unit() - 1.0));
    } else {
        for (std::size_t i = 0; i <= count; ++i) table.integers.push_back(integer_value(fill, sizes, random));
    }
    return table;
}

}  // namespace

double input_table::read(const std::int64_t *indices) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.extents.size(); ++i) {
        // Reading outside is the declaration's mistake; the oracle must survive it.
        if (indices[i] < 0 || indices[i] >= shape.extents[i]) return 0.0;
        offset += indices[i] * shape.strides[i];
    }
    const auto at = static_cast<std::size_t>(offset);
    return type == data_type::f32 ? static_cast<double>(reals[at]) : static_cast<double>(integers[at]);
}

input_tables::input_tables(const variant_description &variant, const call_sizes &sizes, integer_fill fill,
                           std::uint64_t seed, const std::map<std::string, double> &constants) {
    random_source random(seed);
    for (int i = 0; i < variant.input_count; ++i) tables_.push_back(make_table(variant, sizes, i, fill, random));
    for (const auto &[name, value] : constants) {
        const auto *end = variant.inputs + variant.input_count;
        const auto *found =
            std::find_if(variant.inputs, end, [&name = name](const auto &input) { return name == input.name; });
        if (found == end) throw std::invalid_argument(fmt::format("{} has no input '{}'", variant.name, name));
        input_table &table = tables_[static_cast<std::size_t>(found - variant.inputs)];
        std::fill(table.reals.begin(), table.reals.end(), static_cast<float>(value));
        std::fill(table.integers.begin(), table.integers.end(), static_cast<std::int32_t>(value));
    }
}

input_reader input_tables::reader() const {
    return {
        [](const void *context, int input, const std::int64_t *indices) {
            return static_cast<const input_tables *>(context)->tables_[static_cast<std::size_t>(input)].read(indices);
        },
        this};
}

}  // namespace heed::runner
