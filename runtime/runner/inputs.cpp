// SPDX-License-Identifier: MIT
#include "inputs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "random.hpp"

namespace heed::runner {

namespace {

std::int64_t extent_of(const variant_description &variant, const call_sizes &sizes, int input, int dimension) {
    const index_range range = variant.readings.input_index(sizes, input, dimension);
    if (range.known) return std::max<std::int64_t>(range.highest + 1, 0);
    return std::max({sizes.q_len, sizes.kv_len, sizes.batch, static_cast<std::int64_t>(variant.heads)}) + 1;
}

std::vector<std::int64_t> extents_of(const variant_description &variant, const call_sizes &sizes, int input) {
    std::vector<std::int64_t> extents;
    extents.reserve(static_cast<std::size_t>(variant.inputs[input].rank));
    for (int i = 0; i < variant.inputs[input].rank; ++i) extents.push_back(extent_of(variant, sizes, input, i));
    return extents;
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
    input_table table{description.type, row_major_layout(extents_of(variant, sizes, input)), {}, {}};
    // One element more than the shape holds: an empty table has an address, too.
    const auto count = static_cast<std::size_t>(table.shape.element_count()) + 1;
    if (description.type == data_type::f32) {
        table.reals.reserve(count);
        while (table.reals.size() < count) table.reals.push_back(static_cast<float>(2.0 * random.unit() - 1.0));
    } else {
        table.integers.reserve(count);
        while (table.integers.size() < count) table.integers.push_back(integer_value(fill, sizes, random));
    }
    return table;
}

template <typename Element>
void apply(const input_setting &setting, const layout &shape, std::vector<Element> &elements) {
    if (setting.runs == 0) {
        std::fill(elements.begin(), elements.end(), static_cast<Element>(setting.number));
        return;
    }
    const auto length = static_cast<std::size_t>(std::max<std::int64_t>(shape.extents.back(), 1));
    for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t run = i % length * static_cast<std::size_t>(setting.runs) / length;
        elements[i] = static_cast<Element>(run);
    }
}

const input_description *find_input(const variant_description &variant, const std::string &name) {
    const auto *end = variant.inputs + variant.input_count;
    const auto *found = std::find_if(variant.inputs, end, [&](const auto &input) { return name == input.name; });
    return found == end ? nullptr : found;
}

/// "it has: kv_len, sinks", or "it has none".
std::string inputs_text(const std::vector<const variant_description *> &variants, const char *who_has) {
    std::vector<std::string> names;
    for (const variant_description *variant : variants)
        for (int i = 0; i < variant->input_count; ++i)
            if (std::find(names.begin(), names.end(), variant->inputs[i].name) == names.end())
                names.emplace_back(variant->inputs[i].name);
    return names.empty() ? fmt::format("{} none", who_has) : fmt::format("{}: {}", who_has, fmt::join(names, ", "));
}

void check_setting(const variant_description &variant, const input_description &input, const input_setting &setting) {
    using limits = std::numeric_limits<std::int32_t>;
    const auto refuse = [&](const std::string &why) {
        throw std::invalid_argument(fmt::format("--set {}: {}", input.name, why));
    };
    if (setting.runs > 0 && input.rank == 0)
        refuse(fmt::format("the input of {} is a single number and has no runs. Fix: NAME=NUMBER", variant.name));
    if (setting.runs > 0 || input.type == data_type::f32) return;
    // NaN fails every comparison.
    if (!(setting.number >= limits::min() && setting.number <= limits::max()) ||
        setting.number != std::floor(setting.number))
        refuse(fmt::format("the input of {} is i32, and {} is not a whole number of 32 bits", variant.name,
                           setting.number));
}

}  // namespace

double input_table::read(const std::int64_t *indices) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < shape.extents.size(); ++i) {
        if (shape.extents[i] == 0) return 0.0;
        // Indices that data decide stop at the edges of the table, as in kernels.
        offset += std::clamp<std::int64_t>(indices[i], 0, shape.extents[i] - 1) * shape.strides[i];
    }
    const auto at = static_cast<std::size_t>(offset);
    return type == data_type::f32 ? static_cast<double>(reals[at]) : static_cast<double>(integers[at]);
}

bool can_have(const variant_description &variant, const call_sizes &sizes) {
    if (sizes.batch == 0 || sizes.q_len == 0 || sizes.kv_len == 0) return true;  // nothing is read
    for (int input = 0; input < variant.input_count; ++input)
        for (int dimension = 0; dimension < variant.inputs[input].rank; ++dimension) {
            const index_range range = variant.readings.input_index(sizes, input, dimension);
            if (range.known && range.lowest < 0) return false;
        }
    return true;
}

std::vector<planned_tensor> planned_inputs(const variant_description &variant, const call_sizes &sizes) {
    std::vector<planned_tensor> result;
    result.reserve(static_cast<std::size_t>(variant.input_count));
    for (int i = 0; i < variant.input_count; ++i)
        result.push_back({fmt::format("input '{}'", variant.inputs[i].name), extents_of(variant, sizes, i)});
    return result;
}

void check_settings(const std::vector<const variant_description *> &variants, const input_settings &settings) {
    for (const auto &[name, setting] : settings) {
        bool found = false;
        for (const variant_description *variant : variants) {
            const input_description *input = find_input(*variant, name);
            if (input == nullptr) continue;
            check_setting(*variant, *input, setting);
            found = true;
        }
        if (!found) {
            const bool is_one = variants.size() == 1;
            throw std::invalid_argument(
                fmt::format("--set: {} no input '{}'; {}",
                            is_one ? fmt::format("{} has", variants.front()->name) : "the variants have", name,
                            inputs_text(variants, is_one ? "it has" : "they have")));
        }
    }
}

input_tables::input_tables(const variant_description &variant, const call_sizes &sizes, integer_fill fill,
                           std::uint64_t seed, const input_settings &settings) {
    check_memory(variant.name, planned_inputs(variant, sizes));
    random_source random(seed);
    for (int i = 0; i < variant.input_count; ++i) tables_.push_back(make_table(variant, sizes, i, fill, random));
    for (const auto &[name, setting] : settings) {
        const input_description *input = find_input(variant, name);
        if (input == nullptr) continue;
        input_table &table = tables_[static_cast<std::size_t>(input - variant.inputs)];
        apply(setting, table.shape, table.reals);
        apply(setting, table.shape, table.integers);
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
