// SPDX-License-Identifier: MIT
#include "describe.hpp"

#include <fmt/format.h>

#include <fmt/ranges.h>
#include <algorithm>

#include <sstream>

#include "invoke.hpp"
#include "problem.hpp"

namespace heed::runner {

namespace {

// The readings give numbers. Three probes with sizes that no declaration contains tell a constant from an extent that
// follows batch, q_len or kv_len.
std::string extent_text(const variant_description &variant, int input, int dimension) {
    const call_sizes probes[] = {{100'003, 200'003, 300'007},
                                 {100'019, 200'003, 300'007},
                                 {100'003, 200'017, 300'007},
                                 {100'003, 200'003, 300'023}};
    std::int64_t extents[4];
    for (int i = 0; i < 4; ++i) {
        const index_range range = variant.readings.input_index(probes[i], input, dimension);
        if (!range.known) return "any";
        extents[i] = range.highest + 1;
    }
    const bool varies[] = {extents[1] != extents[0], extents[2] != extents[0], extents[3] != extents[0]};
    const char *names[] = {"batch", "q_len", "kv_len"};
    const std::int64_t sizes[] = {probes[0].batch, probes[0].q_len, probes[0].kv_len};
    std::vector<std::string> follows;
    for (int i = 0; i < 3; ++i)
        if (varies[i]) follows.emplace_back(names[i]);
    if (follows.empty()) return fmt::format("{}", extents[0]);
    for (int i = 0; i < 3; ++i) {
        if (follows.size() != 1 || !varies[i]) continue;
        const std::int64_t more = extents[0] - sizes[i];
        if (more == 0) return names[i];
        return fmt::format("{} {} {}", names[i], more < 0 ? '-' : '+', more < 0 ? -more : more);
    }
    return fmt::format("f({})", fmt::join(follows, ", "));
}

}  // namespace

bool has_weights(const variant_description &variant) {
    return std::any_of(variant.kernels, variant.kernels + variant.kernel_count,
                       [](const kernel_description &kernel) { return computed_by(kernel) == computed::weights; });
}

std::vector<argument_text> arguments_of(const variant_description &variant) {
    const auto number = [](int value) { return fmt::format("{}", value); };
    // "f32 or f16" where there are kernels for both.
    const auto types_of = [&](data_type tensor_types::*tensor) {
        std::vector<std::string> names;
        for (int i = 0; i < variant.kernel_count; ++i) {
            const std::string name = name_of(variant.kernels[i].types.*tensor);
            if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
        }
        return names.empty() ? "f32" : fmt::format("{}", fmt::join(names, " or "));
    };
    std::vector<argument_text> result{{"query",
                                       types_of(&tensor_types::query),
                                       {"batch", number(variant.heads), "q_len", number(variant.head_dim)},
                                       "in"},
                                      {"key",
                                       types_of(&tensor_types::key),
                                       {"batch", number(variant.groups), "kv_len", number(variant.head_dim)},
                                       "in"},
                                      {"value",
                                       types_of(&tensor_types::value),
                                       {"batch", number(variant.groups), "kv_len", number(variant.value_dim)},
                                       "in"},
                                      {"output",
                                       types_of(&tensor_types::output),
                                       {"batch", number(variant.heads), "q_len", number(variant.value_dim)},
                                       "out"}};
    if (has_weights(variant))
        result.push_back({"weights",
                          types_of(&tensor_types::output),
                          {"batch", number(variant.heads), "q_len", "kv_len"},
                          "out of calls of the pass weights, which take no value and have no output"});
    for (int i = 0; i < variant.input_count; ++i) {
        argument_text input{variant.inputs[i].name, name_of(variant.inputs[i].type), {}, "in"};
        for (int d = 0; d < variant.inputs[i].rank; ++d) input.shape.push_back(extent_text(variant, i, d));
        result.push_back(input);
    }
    if (has_log_sum_exp(variant))
        result.push_back({"log_sum_exp", "f32", {"batch", number(variant.heads), "q_len"}, "out, optional"});
    return result;
}

std::string types_text(const tensor_types &types) {
    return types == tensor_types(types.query) ? name_of(types.query)
                                              : fmt::format("{}:{}:{}:{}", name_of(types.query), name_of(types.key),
                                                            name_of(types.value), name_of(types.output));
}

std::string shape_text(const argument_text &argument) {
    return argument.shape.empty() ? "number" : fmt::format("({})", fmt::join(argument.shape, ", "));
}

std::string indented(const std::string &text) {
    std::string result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) result += "    " + line + "\n";
    return result;
}

}  // namespace heed::runner
