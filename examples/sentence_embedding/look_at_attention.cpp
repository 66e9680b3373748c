// SPDX-License-Identifier: MIT
#include "look_at_attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <heed/inspect.hpp>

namespace minilm {
namespace {

struct run_times {
    double attention, matrix_products, rest;
};

constexpr int timed_runs = 21;

/// Of each part the fastest of several runs of this sentence alone: what else the machine does shows least there.
run_times time_runs(const encoder &encoder, const std::vector<std::int32_t> &sentence) {
    run_times fastest{};
    for (int i = 0; i < timed_runs; ++i) {
        embed_times times;
        encoder.embed({sentence}, 1, times);
        const run_times run{times.attention, times.matrix_products,
                            times.total - times.attention - times.matrix_products};
        if (i == 0) fastest = run;
        fastest = {std::min(fastest.attention, run.attention), std::min(fastest.matrix_products, run.matrix_products),
                   std::min(fastest.rest, run.rest)};
    }
    return fastest;
}

heed::inspect::run_cost cost_of(const run_times &times, const activation_bytes &bytes, double matrix_bytes) {
    heed::inspect::run_cost cost;
    cost.parts = {
        {"attention", times.attention, bytes.query_key_value + bytes.attention_output + bytes.attention_scratch, true},
        {"matrix products", times.matrix_products, bytes.inner, false},
        {"the rest", times.rest, bytes.others, false}};
    cost.note = fmt::format(
        "Time: attention is the calls of its kernels, without the projections before and after them; of each part the "
        "fastest of {} runs of this sentence alone. Memory: activations that exist at the same time, with the model's "
        "parameters "
        "left out; attention's are query, key and value of a layer ({:.0f} KiB), its output ({:.0f} KiB) and the "
        "kernel's scratch memory on one thread ({:.0f} KiB). The attention matrices shown here are no part of a run; "
        "they would take {:.0f} KiB.",
        timed_runs, bytes.query_key_value / 1024, bytes.attention_output / 1024, bytes.attention_scratch / 1024,
        matrix_bytes / 1024);
    return cost;
}

}  // namespace

std::string look_at_attention(const encoder &encoder, const tokenizer &tokenizer,
                              const std::vector<std::int32_t> &sentence, const std::filesystem::path &folder) {
    const attention_look look = encoder.look_at(sentence);
    heed::inspect::attention of;
    of.weights = {look.weights.data(), {1, look.layers * look.heads, look.tokens, look.tokens}};
    of.log_sum_exp = {look.log_sum_exp.data(), {1, look.layers * look.heads, look.tokens}};
    of.heads_per_layer = look.heads;
    // Nothing is masked, so that a weight of 0 is one that has vanished.
    of.visible = [](auto, auto, auto, auto) { return true; };
    for (const std::int32_t id : sentence) of.key_labels.push_back(tokenizer.piece(id));
    of.query_labels = of.key_labels;

    heed::inspect::report_options options;
    options.cost = cost_of(time_runs(encoder, sentence), encoder.count_activations(look.tokens),
                           static_cast<double>(look.weights.size() * sizeof(float)));
    const heed::inspect::statistics found = heed::inspect::write_report(folder.string(), of, options);
    return heed::inspect::summary_text(of, found, options.limits, options.cost);
}

}  // namespace minilm
