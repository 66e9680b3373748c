// SPDX-License-Identifier: MIT
#include "bench.hpp"

#include <fmt/format.h>
#include <heed/device.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "bench_record.hpp"
#include "describe.hpp"
#include "device_peaks.hpp"
#include "fma_peak.hpp"
#include "invoke.hpp"
#include "read_bandwidth.hpp"
#include "resident_memory.hpp"
#include "samples.hpp"
#include "selection.hpp"
#include "table.hpp"
#include "torch.hpp"
#include "visible_pairs.hpp"

namespace heed::runner {

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) { return std::chrono::duration<double>(clock::now() - begin).count(); }

int core_count() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

std::vector<int> thread_counts(const bench_options &options) {
    if (!options.threads.empty()) return options.threads;
    if (core_count() == 1) return {1};
    return {1, core_count()};
}

std::string timed_pass(const variant_description &variant, const bench_options &options) {
    if (!options.pass.empty()) return options.pass;
    const bool has_forward = std::any_of(variant.kernels, variant.kernels + variant.kernel_count,
                                         [](const auto &kernel) { return std::string(kernel.pass) == "forward"; });
    return has_forward ? "forward" : "cached";
}

bool times_all_isas(const bench_options &options) { return options.isas.size() == 1 && options.isas[0] == "all"; }

// What --isa all leaves out, since it cannot run here.
void print_skipped(const kernel_library &library, const bench_options &options) {
    if (!times_all_isas(options)) return;
    runner::print_skipped(select_variants(library, options.names),
                          [&](const variant_description &variant, const kernel_description &kernel) {
                              const bool of_schedule = options.schedule.empty() || options.schedule == "all" ||
                                                       options.schedule == kernel.schedule;
                              const bool of_dtype = options.dtype.empty() || options.dtype == types_text(kernel.types);
                              return of_schedule && of_dtype && timed_pass(variant, options) == kernel.pass;
                          });
}

std::vector<const kernel_description *> timed_kernels(const variant_description &variant, const bench_options &options,
                                                      std::int64_t q_len) {
    const bool all = times_all_isas(options);
    const std::vector<std::string> isas = all ? std::vector<std::string>() : options.isas;
    auto kernels = select_kernels(variant, isas, timed_pass(variant, options).c_str());
    if (!options.dtype.empty())
        kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                                     [&](const auto *kernel) { return types_text(kernel->types) != options.dtype; }),
                      kernels.end());
    if (options.schedule != "all") kernels = suited_kernels(kernels, q_len, options.schedule);
    if (all) return kernels;
    // Without a choice: the kernels of the best level, which the table names first.
    if (isas.empty())
        while (!kernels.empty() && std::string(kernels.back()->isa) != kernels.front()->isa) kernels.pop_back();
    return kernels;
}

bool is_for_device(const kernel_description &kernel) { return kernel.device != device_kind::cpu; }

// Threads of the CPU mean nothing to a device.
std::vector<int> thread_counts(const kernel_description &kernel, const bench_options &options) {
    return is_for_device(kernel) ? std::vector<int>{0} : thread_counts(options);
}

// What devices can do, measured on each that has kernels to time.
class peaks_of_devices {
  public:
    explicit peaks_of_devices(const device_yardstick_list &yardsticks) : yardsticks_(yardsticks) {}

    // Null without yardsticks for it.
    device_peaks *of(device_kind kind) {
        const auto found = peaks_.find(kind);
        if (found != peaks_.end()) return found->second.get();
        const auto *end = yardsticks_.first + yardsticks_.count;
        const auto *yardsticks =
            std::find_if(yardsticks_.first, end, [kind](const auto &each) { return each.device == kind; });
        return (peaks_[kind] = yardsticks == end ? nullptr : std::make_unique<device_peaks>(*yardsticks)).get();
    }

  private:
    device_yardstick_list yardsticks_;
    std::map<device_kind, std::unique_ptr<device_peaks>> peaks_;
};

// The measurements of one kernel on one number of threads.
struct timed_kernel {
    const kernel_description *kernel;
    int threads;
    prepared_call call;
    int calls_per_round = 1;
    samples seconds, sdpa_seconds, flex_seconds;
    std::optional<std::int64_t> extra_bytes;
};

// PyTorch as long as its process lives, and what the table cannot say.
class torch_session {
  public:
    explicit torch_session(const bench_options &options) {
        if (options.against_torch) process_.emplace(options.python);
        if (process_) version_ = process_->version();
    }

    const std::string &version() const { return version_; }
    const std::vector<std::string> &notes() const { return notes_; }
    bool has_ended() const { return !version_.empty() && !process_; }

    void note(const std::string &text) {
        if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
    }

    template <typename Use>
    void with(const Use &use) {
        if (!process_) return;
        try {
            use(*process_);
        } catch (const torch_ended &error) {
            note(fmt::format("{}; Heed was timed alone from then on", error.what()));
            process_.reset();
        }
    }

  private:
    std::optional<torch_process> process_;
    std::string version_;
    std::vector<std::string> notes_;
};

// One problem with all that is timed on it.
class timed_problem {
  public:
    timed_problem(const variant_description &variant, const call_sizes &sizes, const bench_options &options,
                  peaks_of_devices &devices)
        : options_(options),
          devices_(devices),
          problem_(make_problem(
              variant, sizes,
              {options.how, options.scores, integer_fill::lengths, {}, 1, options.settings, options.page_size})),
          results_(make_results(problem_, options.how)),
          pairs_(count_visible_pairs(variant, sizes, problem_.inputs.reader())) {
        for (const kernel_description *kernel : timed_kernels(variant, options, sizes.q_len))
            for (const int threads : thread_counts(*kernel, options))
                kernels_.push_back({kernel,
                                    threads,
                                    prepared_call(problem_, results_, *kernel, threads, false, is_for_device(*kernel)),
                                    1,
                                    {},
                                    {},
                                    {},
                                    {}});
        if (std::any_of(kernels_.begin(), kernels_.end(),
                        [](const auto &timed) { return !is_for_device(*timed.kernel); }))
            bandwidth_.emplace(static_cast<std::size_t>(key_value_bytes(data_type::f32)));
    }
    timed_problem(const timed_problem &) = delete;
    timed_problem &operator=(const timed_problem &) = delete;

    std::string name() const {
        return fmt::format("{} q {} kv {}", problem_.variant->name, problem_.sizes.q_len, problem_.sizes.kv_len);
    }

    // The first calls: they show the memory that is needed and how many calls fill a round.
    void warm_up() {
        for (timed_kernel &timed : kernels_) {
            const resident_growth growth;
            timed.call();
            if (options_.memory && !is_for_device(*timed.kernel)) timed.extra_bytes = growth.bytes();
            // What is compared with PyTorch.
            timed.call.fetch_results();
            const auto begin = clock::now();
            timed.call();
            constexpr double most_calls = 1000.0;
            timed.calls_per_round = static_cast<int>(
                std::clamp(std::ceil(options_.seconds_per_round / seconds_since(begin)), 1.0, most_calls));
        }
    }

    void load_into(torch_session &session) {
        session.with([&](torch_process &torch) {
            if (kernels_.empty()) return;
            const device_kind device = torch_device();
            const std::string why_not = device == device_kind::cuda  ? torch.why_no_gpu()
                                        : device != device_kind::cpu ? "it has no such device"
                                                                     : "";
            if (!why_not.empty())
                return session.note(
                    fmt::format("Kernels of {} are not compared with PyTorch: {}", heed::name_of(device), why_not));
            torch_problem_ = torch.load(problem_, torch_storage(), device == device_kind::cuda);
            load_sdpa(torch, session);
            load_flex(torch, session);
        });
    }

    void unload_from(torch_session &session) {
        session.with([&](torch_process &torch) {
            if (torch_problem_) torch.unload(*torch_problem_);
        });
    }

    void run_round(torch_session &session) {
        std::set<std::pair<device_kind, int>> read_now;
        for (timed_kernel &timed : kernels_) {
            for (int i = 0; i < timed.calls_per_round; ++i) {
                const auto begin = clock::now();
                timed.call();
                timed.seconds.add(seconds_since(begin));
            }
            auto &fma = fma_peaks_[{timed.kernel->isa, timed.threads}];
            fma = std::max(fma, fma_peak_now(timed));
            const std::pair of(timed.kernel->device, timed.threads);
            if (read_now.insert(of).second) read_peaks_[of] = std::max(read_peaks_[of], read_peak_now(timed));
            session.with([&](torch_process &torch) {
                if (timed.kernel->device != torch_device()) return;
                if (has_sdpa_) time_peer(torch, torch_peer::sdpa, timed, timed.sdpa_seconds);
                if (flex_blocks_.count(timed.threads) > 0)
                    time_peer(torch, torch_peer::flex, timed, timed.flex_seconds);
            });
        }
    }

    void report(std::vector<bench_record> &records) const {
        for (const timed_kernel &timed : kernels_) {
            bench_record record{problem_.variant,
                                timed.kernel,
                                problem_.sizes,
                                timed.threads,
                                timed.seconds.count(),
                                pairs_,
                                static_cast<double>(pairs_) * flops_per_pair(*problem_.variant),
                                key_value_bytes(timed.kernel->types),
                                all_bytes(timed.kernel->types),
                                timed.seconds.smallest(),
                                timed.seconds.median(),
                                fma_peaks_.at({timed.kernel->isa, timed.threads}),
                                read_peaks_.at({timed.kernel->device, timed.threads}),
                                {},
                                {},
                                {},
                                {},
                                {},
                                timed.extra_bytes};
            if (!timed.sdpa_seconds.empty()) {
                record.torch_min_s = timed.sdpa_seconds.smallest();
                record.torch_median_s = timed.sdpa_seconds.median();
            }
            if (!timed.flex_seconds.empty()) {
                record.flex_min_s = timed.flex_seconds.smallest();
                record.flex_median_s = timed.flex_seconds.median();
                record.flex_block = flex_blocks_.at(timed.threads);
            }
            records.push_back(record);
        }
    }

  private:
    double fma_peak_now(const timed_kernel &timed) {
        if (!is_for_device(*timed.kernel)) return measure_fma_peak(timed.kernel->isa, timed.threads);
        device_peaks *const peaks = devices_.of(timed.kernel->device);
        return peaks == nullptr ? 0.0 : peaks->measure_fma();
    }

    double read_peak_now(const timed_kernel &timed) {
        if (!is_for_device(*timed.kernel)) return bandwidth_->measure(timed.threads);
        device_peaks *const peaks = devices_.of(timed.kernel->device);
        return peaks == nullptr ? 0.0 : peaks->measure_read();
    }

    // Queries, keys, values and output.
    double all_bytes(const tensor_types &types) const {
        const variant_description &variant = *problem_.variant;
        return key_value_bytes(types) +
               static_cast<double>(problem_.sizes.batch * problem_.sizes.q_len * variant.heads) *
                   (variant.head_dim * bytes_of(types.query) + variant.value_dim * bytes_of(types.output));
    }

    double key_value_bytes(const tensor_types &types) const {
        const variant_description &variant = *problem_.variant;
        const auto row_bytes = [](int row_size, data_type type) {
            return row_size * bytes_of(type) + (type == data_type::i8 ? 4 : 0);  // with its scale
        };
        return static_cast<double>(problem_.sizes.batch * problem_.sizes.kv_len * variant.groups) *
               (row_bytes(variant.head_dim, types.key) + row_bytes(variant.value_dim, types.value));
    }

    // Where PyTorch computes: as the first of the kernels, with those of the same device.
    device_kind torch_device() const { return kernels_.front().kernel->device; }

    // PyTorch's tensors are of one type: that of keys, where all kernels share it.
    data_type torch_storage() const {
        const data_type type = kernels_.empty() ? data_type::f32 : kernels_.front().kernel->types.key;
        const bool is_shared = std::all_of(kernels_.begin(), kernels_.end(),
                                           [&](const auto &timed) { return timed.kernel->types.key == type; });
        return is_shared && type != data_type::i8 ? type : data_type::f32;
    }

    double allowed_difference(double of_f32) const {
        if (options_.scores == score_kind::peaked) return 1e-2;
        const data_type storage = torch_storage();
        return storage == data_type::f16 ? 5e-3 : storage == data_type::bf16 ? 4e-2 : of_f32;
    }

    void load_sdpa(torch_process &torch, torch_session &session) {
        const torch_equivalent how = find_torch_equivalent(problem_);
        if (how.how == torch_equivalent::kind::none)
            return session.note(
                fmt::format("{}: not compared with scaled_dot_product_attention: {}", name(), how.why_not));
        torch.load_sdpa(*torch_problem_, problem_, how);
        // On a GPU PyTorch may round operands of f32.
        const double of_f32 = torch_device() == device_kind::cpu ? 1e-4 : 1e-3;
        const std::string difference =
            difference_from(torch, torch_peer::sdpa, core_count(), allowed_difference(of_f32));
        // One of both is wrong, and the time of a wrong result means nothing.
        if (!difference.empty())
            throw std::runtime_error(fmt::format("bench --against-torch: {}: {}", name(), difference));
        has_sdpa_ = true;
    }

    void load_flex(torch_process &torch, torch_session &session) {
        const auto refuse = [&](const std::string &why) {
            session.note(fmt::format("{}: not compared with FlexAttention: {}", name(), why));
        };
        flex_functions functions;
        try {
            functions = translate_for_flex(problem_.variant->formula);
        } catch (const std::invalid_argument &error) {
            return refuse(error.what());
        }
        std::set<int> counts;
        for (const timed_kernel &timed : kernels_)
            if (timed.kernel->device == torch_device()) counts.insert(timed.threads);
        for (const int threads : counts) {
            const auto outcome = torch.load_flex(*torch_problem_, problem_, functions, threads);
            if (!outcome.why_not.empty()) {
                refuse(outcome.why_not);
                continue;
            }
            const std::string difference = difference_from(torch, torch_peer::flex, threads, allowed_difference(1e-3));
            if (difference.empty()) {
                flex_blocks_[threads] = outcome.block;
            } else {
                refuse(difference);
            }
        }
    }

    void time_peer(torch_process &torch, torch_peer peer, const timed_kernel &timed, samples &into) const {
        for (const double seconds : torch.time(*torch_problem_, peer, timed.threads, timed.calls_per_round))
            into.add(seconds);
        if (is_for_device(*timed.kernel)) return;
        // PyTorch's threads spin for a while after their work.
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }

    // A comparison of times says nothing if the results differ. Empty if they agree; `allowed` is a share of the
    // largest value.
    std::string difference_from(torch_process &torch, torch_peer peer, int threads, double allowed) const {
        const auto &extents = results_.output.shape.extents;
        const std::vector<float> other = torch.result(*torch_problem_, peer, threads,
                                                      static_cast<std::size_t>(results_.output.shape.element_count()));
        double largest = 0.0, difference = 0.0;
        std::size_t at = 0;
        for (std::int64_t b = 0; b < extents[0]; ++b)
            for (std::int64_t h = 0; h < extents[1]; ++h)
                for (std::int64_t i = 0; i < extents[2]; ++i)
                    for (std::int64_t d = 0; d < extents[3]; ++d) {
                        const double ours = results_.output.row(b, h, i)[d], theirs = other[at++];
                        // Where nothing is visible, PyTorch may say NaN.
                        if (std::isnan(theirs) && ours == 0.0) continue;
                        largest = std::max(largest, std::fabs(ours));
                        const double off = std::fabs(ours - theirs);
                        difference =
                            std::isnan(off) ? std::numeric_limits<double>::infinity() : std::max(difference, off);
                    }
        if (difference <= allowed * largest) return "";
        return fmt::format("PyTorch's result differs by {:.1e}, the largest value is {:.1e}", difference, largest);
    }

    const bench_options &options_;
    peaks_of_devices &devices_;
    problem problem_;
    results results_;
    std::int64_t pairs_;
    std::optional<read_bandwidth> bandwidth_;  // where there are kernels of the CPU
    std::vector<timed_kernel> kernels_;
    std::map<std::pair<std::string, int>, double> fma_peaks_;
    std::map<std::pair<device_kind, int>, double> read_peaks_;
    std::optional<int> torch_problem_;
    bool has_sdpa_ = false;
    std::map<int, int> flex_blocks_;  // by number of threads
};

std::vector<call_sizes> timed_sizes(const bench_options &options) {
    std::vector<call_sizes> result;
    for (const std::int64_t batch : options.batches) {
        for (const std::int64_t length : options.lengths) result.push_back({batch, length, length});
        for (const std::int64_t q_len : options.q_lens)
            for (const std::int64_t kv_len : options.kv_lens) result.push_back({batch, q_len, kv_len});
    }
    return result;
}

double tensor_bytes(const variant_description &variant, const call_sizes &sizes) {
    const double queries = static_cast<double>(sizes.q_len) * variant.heads,
                 keys = static_cast<double>(sizes.kv_len) * variant.groups;
    return static_cast<double>(sizes.batch) * (queries + keys) * (variant.head_dim + variant.value_dim) * sizeof(float);
}

struct timed_case {
    const variant_description *variant;
    call_sizes sizes;
};

// Cases whose tensors together fit 1 GiB: these are timed in the same rounds.
std::vector<std::vector<timed_case>> interleaved_cases(const kernel_library &library, const bench_options &options) {
    constexpr double most_bytes = 0x1p30;
    std::vector<std::vector<timed_case>> result;
    double bytes = 0.0;
    for (const variant_description *variant : select_variants(library, options.names))
        for (const call_sizes &sizes : timed_sizes(options)) {
            const double more = tensor_bytes(*variant, sizes);
            if (result.empty() || bytes + more > most_bytes) {
                result.emplace_back();
                bytes = 0.0;
            }
            bytes += more;
            result.back().push_back({variant, sizes});
        }
    return result;
}

void write_file(const std::string &path, const std::string &text) {
    if (path.empty()) return;
    std::ofstream out(path);
    out << text << std::flush;
    if (!out) throw std::runtime_error(fmt::format("bench: cannot write '{}'", path));
}

// Before anything is timed: a run can take hours.
void check_file(const std::string &path) {
    if (path.empty()) return;
    const bool existed = std::filesystem::exists(path);
    if (!std::ofstream(path, std::ios::app)) throw std::runtime_error(fmt::format("bench: cannot write '{}'", path));
    if (!existed) std::filesystem::remove(path);
}

void check_files(const bench_options &options) {
    namespace fs = std::filesystem;
    check_file(options.json_file);
    check_file(options.csv_file);
    if (options.json_file.empty() || options.csv_file.empty()) return;
    // Links and devices aside: /dev/null twice is fine.
    std::error_code ignored;
    const bool device = fs::exists(options.json_file, ignored) && !fs::is_regular_file(options.json_file, ignored);
    if (device || (fs::weakly_canonical(options.json_file) != fs::weakly_canonical(options.csv_file) &&
                   !fs::equivalent(options.json_file, options.csv_file, ignored)))
        return;
    throw std::invalid_argument(
        fmt::format("bench: --json and --csv both name '{}', and the second would overwrite the first. Fix: a file for "
                    "each",
                    options.json_file));
}

// Seconds per call, one value per round.
samples time_tiny_calls(const variant_description &variant, const kernel_description &kernel, int threads,
                        const bench_options &options) {
    constexpr int warm_up_calls = 1000, calls_per_round = 5000;
    const problem tiny = make_problem(
        variant, {1, 1, 1}, {arrangement::row_major, options.scores, integer_fill::lengths, {}, 1, options.settings});
    const results into = make_results(tiny, arrangement::row_major);
    const prepared_call call(tiny, into, kernel, threads, false);
    for (int i = 0; i < warm_up_calls; ++i) call();
    samples seconds;
    for (int round = 0; round < options.rounds; ++round) {
        const auto begin = clock::now();
        for (int i = 0; i < calls_per_round; ++i) call();
        seconds.add(seconds_since(begin) / calls_per_round);
    }
    return seconds;
}

// What remains of a call if the kernel does nothing: checks, choice of the kernel, descriptions of the tensors.
samples time_empty_calls(const variant_description &variant, const kernel_description &kernel, int threads,
                         const bench_options &options) {
    // The one that is timed, and what a cache is filled with.
    kernel_description nothing[] = {kernel, kernel};
    for (kernel_description &each : nothing) each.run = [](void **) { return 0; };
    nothing[1].pass = "append";
    variant_description with_nothing = variant;
    with_nothing.kernels = nothing;
    with_nothing.kernel_count = 2;
    return time_tiny_calls(with_nothing, nothing[0], threads, options);
}

void print_no_kernel(const bench_options &options) {
    const bool of_schedule = !options.schedule.empty() && options.schedule != "all";
    fmt::print(stderr, "bench: there is no kernel of the pass {}{} that this machine can run\n",
               options.pass.empty() ? "forward or cached" : options.pass,
               of_schedule ? " and the schedule " + options.schedule : "");
}

}  // namespace

int bench(const kernel_library &library, const bench_options &options) {
    check_settings(select_variants(library, options.names), options.settings);
    check_files(options);
    const auto sets = interleaved_cases(library, options);
    for (const auto &set : sets)
        for (const timed_case &c : set) {
            check_memory(*c.variant, c.sizes);
            if (timed_pass(*c.variant, options) == "cached" && c.sizes.q_len > c.sizes.kv_len)
                throw std::invalid_argument(
                    fmt::format("bench: {} with q_len {} and kv_len {}: a cache holds the keys of all its queries. "
                                "Fix: at least as "
                                "many keys as queries",
                                c.variant->name, c.sizes.q_len, c.sizes.kv_len));
        }
    torch_session torch(options);
    peaks_of_devices devices(options.yardsticks);
    std::vector<bench_record> records;
    {
        std::size_t steps = 0;
        for (const auto &set : sets) steps += set.size() * static_cast<std::size_t>(options.rounds + 1);
        progress_line progress(steps);
        for (const auto &set : sets) {
            std::vector<std::unique_ptr<timed_problem>> problems;
            for (const timed_case &c : set) {
                problems.push_back(std::make_unique<timed_problem>(*c.variant, c.sizes, options, devices));
                progress.step(problems.back()->name());
                problems.back()->warm_up();
                problems.back()->load_into(torch);
            }
            for (int round = 0; round < options.rounds; ++round)
                for (const auto &problem : problems) {
                    progress.step(problem->name());
                    problem->run_round(torch);
                }
            for (const auto &problem : problems) {
                problem->report(records);
                problem->unload_from(torch);
            }
        }
    }
    if (options.against_torch) fmt::print("PyTorch {}\n", torch.version());
    fmt::print("{}", bench_table(records));
    for (const std::string &note : torch.notes()) fmt::print("{}\n", note);
    print_skipped(library, options);
    write_file(options.json_file, bench_json(records));
    write_file(options.csv_file, bench_csv(records));
    if (records.empty()) print_no_kernel(options);
    return records.empty() || torch.has_ended() ? 1 : 0;
}

int bench_overhead(const kernel_library &library, const bench_options &options) {
    check_settings(select_variants(library, options.names), options.settings);
    text_table table({"variant", "isa", "dtype", "heads", "threads", "call, min (us)", "call, median (us)",
                      "without the kernel, min (us)", "without the kernel, median (us)"});
    const auto microseconds = [](double seconds) { return fmt::format("{:.2f}", seconds * 1e6); };
    for (const variant_description *variant : select_variants(library, options.names))
        for (const kernel_description *kernel : timed_kernels(*variant, options, 1))
            for (const int threads : thread_counts(*kernel, options)) {
                const samples call = time_tiny_calls(*variant, *kernel, threads, options);
                const samples empty = time_empty_calls(*variant, *kernel, threads, options);
                table.add({variant->name, kernel->isa, types_text(kernel->types), fmt::format("{}", variant->heads),
                           fmt::format("{}", threads), microseconds(call.smallest()), microseconds(call.median()),
                           microseconds(empty.smallest()), microseconds(empty.median())});
            }
    fmt::print("Calls with one query, one key and a batch of 1; the mean of 5000 calls a round.\n{}", table.text());
    print_skipped(library, options);
    if (table.empty()) print_no_kernel(options);
    return table.empty() ? 1 : 0;
}

}  // namespace heed::runner
