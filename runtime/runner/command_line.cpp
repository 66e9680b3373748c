// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdlib>
#include <heed/runner.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>

#include "bench.hpp"
#include "commands.hpp"
#include "verify.hpp"

namespace heed {

namespace {

using namespace runner;

using setting_texts = std::shared_ptr<std::vector<std::string>>;

setting_texts add_settings(CLI::App &command) {
    auto texts = std::make_shared<std::vector<std::string>>();
    command.add_option("--set", *texts,
                       "NAME=NUMBER for all elements of an input, e.g. kv_len=3000; NAME=blocks:N for N equal runs of "
                       "0, 1, ... along its last dimension, e.g. document=blocks:8");
    return texts;
}

input_settings settings_of(const std::vector<std::string> &texts) {
    const std::string blocks = "blocks:";
    input_settings settings;
    for (const std::string &text : texts) {
        const std::size_t equals = text.find('=');
        const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
        input_setting setting;
        const bool understood = value.rfind(blocks, 0) == 0
                                    ? CLI::detail::lexical_cast(value.substr(blocks.size()), setting.runs) &&
                                          setting.runs >= 1 && setting.runs <= 1 << 24
                                    : CLI::detail::lexical_cast(value, setting.number);
        if (equals == std::string::npos || !understood)
            throw CLI::ValidationError(
                "--set", fmt::format("'{}' is not NAME=NUMBER or NAME=blocks:N with N from 1 to 2^24", text));
        settings[text.substr(0, equals)] = setting;
    }
    return settings;
}

void add_list(CLI::App &app, const kernel_library &library, int &status) {
    CLI::App *command = app.add_subcommand("list", "Variants with formula, arguments and kernels");
    auto json = std::make_shared<bool>(false);
    command->add_flag("--json", *json, "Print JSON");
    command->callback([&, json] { status = list(library, *json); });
}

void add_devices(CLI::App &app, int &status) {
    CLI::App *command = app.add_subcommand("devices", "GPUs that there are, and why others are not");
    auto kind = std::make_shared<std::string>();
    command
        ->add_option("kind", *kind,
                     fmt::format("cuda, opencl or vulkan: only that one; the status is {} where there is none, and "
                                 "another one where the search itself fails",
                                 no_such_device_status))
        ->check(CLI::IsMember({"cuda", "opencl", "vulkan"}));
    command->callback([&, kind] { status = list_devices(*kind); });
}

void add_explain(CLI::App &app, const kernel_library &library, int &status) {
    CLI::App *command = app.add_subcommand(
        "explain",
        "Formula, arguments, the tiles that a call runs, executed against dense FLOPs, arithmetic intensity");
    auto options = std::make_shared<explain_options>();
    command->add_option("name", options->name, "Variant")->required();
    command->add_option("--q", options->q_len, "Queries")->check(CLI::Range(1, 1 << 20))->capture_default_str();
    command->add_option("--kv", options->kv_len, "Keys")->check(CLI::Range(1, 1 << 20))->capture_default_str();
    command->add_option("--batch", options->batch, "Batch")->check(CLI::Range(1, 1 << 20))->capture_default_str();
    command->add_option("--isa", options->isa, "Kernel whose tiles are shown; default: the best one");
    command->add_option("--head", options->head, "Head that the map shows")->capture_default_str();
    command->add_option("--entry", options->batch_entry, "Batch entry that the map shows")->capture_default_str();
    command->add_option("--png", options->png, "Also write the map as a picture, at least one pixel per tile");
    command->add_option("--width", options->width, "Largest width of the map in characters")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    auto settings = add_settings(*command);
    command->callback([&, options, settings] {
        options->settings = settings_of(*settings);
        status = explain(library, *options);
    });
}

void add_verify(CLI::App &app, const kernel_library &library, int &status) {
    CLI::App *command = app.add_subcommand("verify", "Checks every kernel against double precision");
    command->description(
        "Checks kernels against attention in double precision, computed from the declaration pair by pair.\n"
        "The bar is an error of 2e-6 of the largest output, or 8 f32 roundings of the row's scores where that is more;\n"
        "for a row whose values cancel, 2e-6 of their mean magnitude. Errors are shown as shares of the largest output.\n"
        "Shapes, with T rows and K keys a tile (T also divided by the heads that share it): q_len 0, 1, T-1, T, T+1, "
        "3T\n"
        "against K+1 keys; kv_len 0, 1, K-1, K, K+1, 2K, 3K, 3K+1 against T+1 queries; equal lengths 1, 2, T, K-1, K, "
        "K+1,\n"
        "3T; few queries on many keys and the reverse; where a GPU merges parts of P keys, P, P+1, 2P+K+1 and 3P "
        "keys.\n"
        "Not their full cross product; every third shape has a batch of 2.\n"
        "Each shape: on every thread count; in memory that is length-major, packed, padded or reversed (in turns), "
        "with NaN\n"
        "and inf in every key and value that no query of the group sees; with a NaN in one key that some rows see.\n"
        "Some shapes: called twice, for the same bits; without log_sum_exp; with tensors in memory of the kernel's "
        "device,\n"
        "as bench times them, where it has one of its own.\n"
        "Two tiles: keys and values broadcast with stride 0; scores of magnitude 100s; all scores near -2^17.\n"
        "Outputs lie among a pattern that must stay, all memory ends at an unreadable page.\n"
        "Inputs of the variant: f32 uniform in [-1, 1]; i32 in turns uniform in [0, kv_len], in [0, 3], and 0 or "
        "kv_len.\n"
        "Kernels of the pass 'weights' the same way: each weight, exactly 0 where masked, and the sum of each row.\n"
        "Problems of more than 2 million pairs are checked on sampled heads and rows, those at tile edges always.");
    auto options = std::make_shared<verify_options>();
    command->add_option("names", options->names, "Variants; default: all");
    command->add_option("--isa", options->isas, "Instruction sets; default: all that this machine runs")
        ->delimiter(',');
    command->add_option("--threads", options->threads, "Thread counts; default: 1,2")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    command->add_option("--seed", options->seed, "Seed of all values")->capture_default_str();
    command->add_flag("--quick", options->quick, "A third of the shapes");
    command->callback([&, options] { status = verify(library, *options); });
}

void add_bench(CLI::App &app, const kernel_library &library, const device_yardstick_list &yardsticks, int &status) {
    CLI::App *command = app.add_subcommand("bench", "Times kernels beside what this machine can do");
    command->description(
        "Times kernels, the FMA peak of their instruction set, reads of as many bytes as keys and values have, "
        "and "
        "with\n"
        "--against-torch PyTorch, one after another in each of several rounds. All variants and lengths whose tensors "
        "fit\n"
        "1 GiB together share the rounds. GFLOP/s counts 2 * (head_dim + value_dim) per pair that attends; peaks are "
        "the\n"
        "best of the run, shares use the fastest call. Inputs of the variant: f32 uniform in [-1, 1], i32 in [0, "
        "kv_len].\n"
        "Kernels of GPUs: tensors lie in the GPU's memory, the clock is read when all its work is done, and the peaks "
        "are\n"
        "those of that GPU and of its memory.");
    auto options = std::make_shared<bench_options>();
    auto overhead = std::make_shared<bool>(false), peaked = std::make_shared<bool>(false);
    command->add_option("names", options->names, "Variants; default: all");
    const auto numbers = [&](const char *name, auto &list, const char *what, int least) {
        return command->add_option(name, list, what)->delimiter(',')->check(CLI::Range(least, 1 << 24));
    };
    CLI::Option *seq = numbers("--seq", options->lengths, "Both lengths: several make a table; default: 1024", 1);
    CLI::Option *q = numbers("--q", options->q_lens, "Numbers of queries", 1)->excludes(seq);
    CLI::Option *kv = numbers("--kv", options->kv_lens, "Numbers of keys", 1)->excludes(seq);
    q->needs(kv);
    kv->needs(q);
    numbers("--batch", options->batches, "Batch sizes; default: 1", 1);
    numbers("--threads", options->threads, "Thread counts; default: 1 and the number of cores", 1);
    command->add_option("--isa", options->isas, "Instruction sets, or 'all'; default: the best")->delimiter(',');
    command->add_option("--schedule", options->schedule, "decode, prefill or all; default: by the number of queries")
        ->check(CLI::IsMember({"decode", "prefill", "all"}));
    command
        ->add_option("--pass", options->pass,
                     "forward, or cached: with keys and values in a cache; default: what there is")
        ->check(CLI::IsMember({"forward", "cached"}));
    command->add_option("--page-size", options->page_size, "Tokens of a cache's page; 0: as many as keys")
        ->check(CLI::Range(0, 1 << 24))
        ->capture_default_str();
    command->add_option(
        "--dtype", options->dtype,
        "Kernels of these storage types only, as f16 or f32:f16:f16:f32; PyTorch then has those of the keys");
    command->add_option("--repeat", options->rounds, "Rounds")->check(CLI::Range(1, 100000))->capture_default_str();
    command->add_option("--round-time", options->seconds_per_round, "Seconds of calls a round, one call at least")
        ->check(CLI::Range(0.0, 60.0) & CLI::Validator(
                                            [](const std::string &text) {
                                                return std::isnan(std::strtod(text.c_str(), nullptr))
                                                           ? "not a number: " + text
                                                           : std::string();
                                            },
                                            "NUMBER"))
        ->capture_default_str();
    const std::map<std::string, score_kind> kinds{{"ordinary", score_kind::ordinary}, {"peaked", score_kind::peaked}};
    command
        ->add_option("--scores", options->scores, "ordinary: variance 1; peaked: magnitude 100s, most weights vanish")
        ->transform(CLI::CheckedTransformer(kinds));
    const std::map<std::string, arrangement> layouts{{"row_major", arrangement::row_major},
                                                     {"length_major", arrangement::length_major},
                                                     {"packed", arrangement::packed}};
    command->add_option("--layout", options->how, "row_major (batch, heads, length, dim), length_major, packed")
        ->transform(CLI::CheckedTransformer(layouts));
    auto settings = add_settings(*command);
    command->add_option("--json", options->json_file, "Write the records as JSON");
    command->add_option("--csv", options->csv_file, "Write the records as CSV");
    command->add_flag(
        "--memory", options->memory,
        "Largest resident memory during the first call, beyond the tensors; later kernels of the same run "
        "reuse what earlier ones took");
    command->add_flag("--overhead", *overhead, "Time of a call with one query and one key instead");
    command->add_flag(
        "--against-torch", options->against_torch,
        "Also time PyTorch's scaled_dot_product_attention and, compiled before, FlexAttention; says below "
        "the table what they cannot compute");
    command->add_option("--python", options->python, "Python with PyTorch")->capture_default_str();
    command->callback([&, options, settings, overhead] {
        options->yardsticks = yardsticks;
        options->settings = settings_of(*settings);
        if (options->lengths.empty() && options->q_lens.empty()) options->lengths = {1024};
        status = *overhead ? bench_overhead(library, *options) : bench(library, *options);
    });
}

void add_inspect(CLI::App &app, const kernel_library &library, int &status) {
    CLI::App *command = app.add_subcommand("inspect", "Heat maps and statistics of the attention matrix");
    command->description(
        "Computes the attention matrix of random queries and keys with a kernel of the pass 'weights', and writes into "
        "a\n"
        "folder: a heat map of each head, all heads on one sheet, the similarity of heads, report.txt and "
        "report.json.\n"
        "Inputs of the variant are as in bench: f32 uniform in [-1, 1], i32 in [0, kv_len], unless --set.");
    auto options = std::make_shared<inspect_options>();
    command->add_option("name", options->name, "Variant")->required();
    const CLI::Range lengths(1, 1 << 16);
    CLI::Option *seq = command->add_option("--seq", options->length, "Both lengths; default: 64, or as many as tokens")
                           ->check(lengths);
    command->add_option("--q", options->q_len, "Queries; default: as many as keys")->check(lengths)->excludes(seq);
    command->add_option("--kv", options->kv_len, "Keys; default: as many as tokens")->check(lengths)->excludes(seq);
    command->add_option("--batch", options->batch, "Batch")->check(CLI::Range(1, 1 << 16))->capture_default_str();
    command->add_option("--isa", options->isa, "Instruction set; default: the best");
    const std::map<std::string, score_kind> kinds{{"ordinary", score_kind::ordinary}, {"peaked", score_kind::peaked}};
    command->add_option("--scores", options->scores, "ordinary: variance 1; peaked: magnitude 100s")
        ->transform(CLI::CheckedTransformer(kinds));
    auto settings = add_settings(*command);
    command->add_option("--head", options->heads, "Heads that get a heat map of their own; default: all")
        ->delimiter(',');
    command->add_option("--entry", options->batch_entry, "Batch entry that the pictures show")->capture_default_str();
    command->add_option("--tokens", options->token_file, "File with a label for each key, one per line, UTF-8");
    command->add_option("--output", options->folder, "Folder; default: inspect-NAME");
    command->add_option("--alike", options->alike, "Similarity from which two heads do the same")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command->add_option("--collapsed", options->collapsed, "Share on one key from which a head has collapsed")
        ->check(CLI::Range(0.0, 1.0))
        ->capture_default_str();
    command->add_option("--font", options->font, "TrueType file for the labels");
    command->callback([&, options, settings] {
        options->settings = settings_of(*settings);
        status = inspect_weights(library, *options);
    });
}

// CLI11 would say that a command is missing, and not which one it does not know.
void check_command(const CLI::App &app, const std::string &name) {
    std::vector<std::string> names;
    for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(command->get_name());
    if (std::find(names.begin(), names.end(), name) == names.end())
        throw std::invalid_argument(
            fmt::format("there is no command '{}'; there are: {}", name, fmt::join(names, ", ")));
}

}  // namespace

int run_command_line(const kernel_library &library, int argc, char **argv, const device_yardstick_list &yardsticks) {
    CLI::App app(fmt::format("The attention kernels of {}", library.name));
    app.require_subcommand(1);
    int status = 0;
    add_list(app, library, status);
    add_devices(app, status);
    add_explain(app, library, status);
    add_verify(app, library, status);
    add_bench(app, library, yardsticks, status);
    add_inspect(app, library, status);
    try {
        if (argc > 1 && argv[1][0] != '-') check_command(app, argv[1]);
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error);
    } catch (const std::bad_alloc &) {
        fmt::print(stderr, "not enough memory. Fix: smaller lengths (--seq, --q, --kv) or a smaller --batch\n");
        return 1;
    } catch (const std::exception &error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return status;
}

}  // namespace heed
