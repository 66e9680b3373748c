// SPDX-License-Identifier: MIT
#include <heed/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "commands.hpp"
#include "describe.hpp"
#include "invoke.hpp"
#include "memory_check.hpp"
#include "selection.hpp"

namespace heed::runner {

namespace {

[[noreturn]] void refuse(const std::string &why) { throw std::invalid_argument("inspect: " + why); }

const kernel_description &weights_kernel(const variant_description &variant, const std::string &isa) {
    if (!has_weights(variant))
        refuse(
            fmt::format("{} has no kernel of the pass 'weights', which computes the attention matrix. Fix: PASSES "
                        "forward weights in heed_add_kernels",
                        variant.name));
    std::vector<std::string> isas;
    if (!isa.empty()) isas.push_back(isa);
    const auto kernels = select_kernels(variant, isas, "weights");
    if (kernels.empty()) refuse(fmt::format("this machine can run no kernel of {}", variant.name));
    // Without rounding to 16 bits where there is a choice.
    const auto exact = std::find_if(kernels.begin(), kernels.end(), [](const kernel_description *kernel) {
        return kernel->types.output == data_type::f32;
    });
    return exact == kernels.end() ? *kernels.front() : **exact;
}

std::vector<std::string> read_tokens(const std::string &path) {
    std::vector<std::string> tokens;
    if (path.empty()) return tokens;
    std::ifstream lines(path);
    if (!lines) refuse(fmt::format("cannot read '{}'", path));
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        tokens.push_back(line);
    }
    if (tokens.empty()) refuse(fmt::format("there are no tokens in '{}'", path));
    return tokens;
}

call_sizes sizes_of(const inspect_options &options, const std::vector<std::string> &tokens) {
    constexpr std::int64_t default_length = 64;
    const auto given = [](std::int64_t first, std::int64_t otherwise) { return first > 0 ? first : otherwise; };
    const std::int64_t token_count = static_cast<std::int64_t>(tokens.size());
    const std::int64_t kv_len =
        given(options.kv_len, given(options.length, given(token_count, given(options.q_len, default_length))));
    if (token_count > 0 && token_count != kv_len)
        refuse(fmt::format("'{}' has {} tokens for {} keys. Fix: one line per key", options.token_file, token_count,
                           kv_len));
    return {options.batch, given(options.q_len, kv_len), kv_len};
}

void check_indices(const variant_description &variant, const inspect_options &options) {
    for (const std::int64_t head : options.heads)
        if (head < 0 || head >= variant.heads)
            refuse(fmt::format("--head {}: {} has heads 0 to {}", head, variant.name, variant.heads - 1));
    if (options.batch_entry < 0 || options.batch_entry >= options.batch)
        refuse(fmt::format("--entry {}: the batch is {}", options.batch_entry, options.batch));
}

// The queries are tokens, too: those at their positions.
std::vector<std::string> query_labels(const std::vector<std::string> &tokens, std::int64_t start, std::int64_t q_len) {
    std::vector<std::string> labels;
    if (tokens.empty()) return labels;
    for (std::int64_t row = 0; row < q_len; ++row) {
        const std::int64_t position = start + row;
        const bool known = position >= 0 && position < static_cast<std::int64_t>(tokens.size());
        labels.push_back(known ? tokens[static_cast<std::size_t>(position)] : fmt::format("{}", position));
    }
    return labels;
}

}  // namespace

int inspect_weights(const kernel_library &library, const inspect_options &options) {
    const variant_description &variant = *select_variants(library, {options.name}).front();
    const kernel_description &kernel = weights_kernel(variant, options.isa);
    check_indices(variant, options);
    check_settings({&variant}, options.settings);
    const std::vector<std::string> tokens = read_tokens(options.token_file);
    const call_sizes sizes = sizes_of(options, tokens);
    const auto &[batch, q_len, kv_len] = sizes;
    check_memory(fmt::format("{} with batch {}, q_len {}, kv_len {}", variant.name, batch, q_len, kv_len),
                 {{"weights", {batch, variant.heads, q_len, kv_len}}});

    const problem of = make_problem(
        variant, sizes,
        {arrangement::row_major, options.scores, integer_fill::lengths, kernel.types, 1, options.settings});
    const results into = make_results(of, arrangement::row_major, computed::weights);
    const prepared_call call(of, into, kernel, 0);
    call();
    call.fetch_results();

    const variant_readings &readings = variant.readings;
    const input_reader reader = of.inputs.reader();
    inspect::attention seen;
    seen.weights = {into.output.first, {batch, variant.heads, q_len, kv_len}};
    // A factor on the weights would be in what the weights say about scores.
    if (has_log_sum_exp(variant) && readings.weight_factor == nullptr)
        seen.log_sum_exp = {into.log_sum_exp.first, {batch, variant.heads, q_len}};
    for (std::int64_t b = 0; b < batch; ++b) seen.query_start.push_back(readings.query_start(sizes, b, reader));
    seen.visible = [&](std::int64_t b, std::int64_t head, std::int64_t row, std::int64_t key) {
        const std::int64_t position = seen.query_start[static_cast<std::size_t>(b)] + row;
        return readings.attends(sizes, {b, head, position, key}, reader);
    };
    seen.key_labels = tokens;
    seen.query_labels = query_labels(tokens, seen.query_start[static_cast<std::size_t>(options.batch_entry)], q_len);

    inspect::report_options report;
    report.limits = {options.alike, options.collapsed};
    report.pictures = {options.font, options.batch_entry};
    report.heads = options.heads;
    const std::string folder = options.folder.empty() ? "inspect-" + options.name : options.folder;
    const std::string text = inspect::report_text(seen, inspect::write_report(folder, seen, report), report.limits);
    fmt::print("{}\n{}\n{}, random queries and keys\n\n{}\nwrote heat maps, report.txt and report.json to {}\n",
               variant.name, indented(variant.formula), kernel.name, text, folder);
    return 0;
}

}  // namespace heed::runner
