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
    const auto is_on_cache = [](const kernel_description &kernel) { return reads_cache(kernel) || !is_called(kernel); };
    const kernel_description *const first = variant.kernels, *const end = first + variant.kernel_count;
    // Calls with keys and values in tensors; where there are none, those with a cache.
    const bool has_cache = std::any_of(first, end, is_on_cache),
               on_cache = has_cache && std::all_of(first, end, is_on_cache);
    // "f32 or f16" where there are kernels for both.
    const auto types_of = [&](bool of_cache, data_type tensor_types::*tensor) {
        std::vector<std::string> names;
        for (const kernel_description *kernel = first; kernel != end; ++kernel) {
            const std::string name = name_of(kernel->types.*tensor);
            if (is_on_cache(*kernel) == of_cache && std::find(names.begin(), names.end(), name) == names.end())
                names.push_back(name);
        }
        return names.empty() ? "f32" : fmt::format("{}", fmt::join(names, " or "));
    };
    const auto tensor_of = [&](const char *name, data_type tensor_types::*type, int heads, const char *length, int dim,
                               const char *role) -> argument_text {
        return {name,
                types_of(on_cache, type),
                {on_cache ? "1" : "batch", number(heads), on_cache ? "tokens" : length, number(dim)},
                role};
    };
    // A cache is filled from tensors of the type of queries.
    const auto key_type = on_cache ? &tensor_types::query : &tensor_types::key,
               value_type = on_cache ? &tensor_types::query : &tensor_types::value;
    const char *const key_role = on_cache ? "in, of append" : "in";
    std::vector<argument_text> result{
        tensor_of("query", &tensor_types::query, variant.heads, "q_len", variant.head_dim, "in"),
        tensor_of("key", key_type, variant.groups, "kv_len", variant.head_dim, key_role),
        tensor_of("value", value_type, variant.groups, "kv_len", variant.value_dim, key_role),
        tensor_of("output", &tensor_types::output, variant.heads, "q_len", variant.value_dim, "out")};
    if (has_cache)
        for (const bool is_key : {true, false})
            result.push_back(
                {is_key ? "cache.key" : "cache.value",
                 types_of(true, is_key ? &tensor_types::key : &tensor_types::value),
                 {"pages", number(variant.groups), "page_size", number(is_key ? variant.head_dim : variant.value_dim)},
                 "out of append, in of calls of the pass cached"});
    if (has_weights(variant))
        result.push_back({"weights",
                          types_of(false, &tensor_types::output),
                          {"batch", number(variant.heads), "q_len", "kv_len"},
                          "out of calls of the pass weights, which take no value and have no output"});
    for (int i = 0; i < variant.input_count; ++i) {
        argument_text input{variant.inputs[i].name, name_of(variant.inputs[i].type), {}, "in"};
        for (int d = 0; d < variant.inputs[i].rank; ++d) input.shape.push_back(extent_text(variant, i, d));
        result.push_back(input);
    }
    if (has_log_sum_exp(variant))
        result.push_back({"log_sum_exp",
                          "f32",
                          {on_cache ? "1" : "batch", number(variant.heads), on_cache ? "tokens" : "q_len"},
                          "out, optional"});
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
