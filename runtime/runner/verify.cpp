// SPDX-License-Identifier: MIT
#include "verify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>

#include "compare.hpp"
#include "crash_report.hpp"
#include "describe.hpp"
#include "inputs.hpp"
#include "invoke.hpp"
#include "oracle.hpp"
#include "poison.hpp"
#include "selection.hpp"
#include "shapes.hpp"
#include "table.hpp"

namespace heed::runner {

namespace {

// Pairs of query and key that the oracle computes for one problem; rows are sampled beyond.
constexpr std::int64_t pair_limit = 2'000'000;
constexpr std::int64_t quick_pair_limit = 200'000;

constexpr const char *device_memory_remark = ", tensors in memory of the device";

const char *name_of(score_kind scores) {
    switch (scores) {
        case score_kind::ordinary:
            return "ordinary scores";
        case score_kind::peaked:
            return "peaked scores";
        case score_kind::far:
            return "scores near -2^17";
    }
    return "?";
}

struct kernel_record {
    const kernel_description *kernel;
    int calls = 0;
    std::vector<std::string> failures{};
    comparison ordinary, peaked, far;

    comparison &of(score_kind scores) {
        return scores == score_kind::ordinary ? ordinary : scores == score_kind::peaked ? peaked : far;
    }
};

// One problem of a variant and the kernels that are to solve it.
struct verified_case {
    computed what;
    call_sizes sizes;
    problem_options options;
    std::vector<std::size_t> kernels;
};

// The problems that suit the declaration; `left_out` counts the others.
std::vector<verified_case> cases_of(const variant_description &variant, const std::vector<kernel_record> &records,
                                    const verify_options &options, std::size_t &left_out) {
    std::vector<verified_case> result;
    const auto add = [&](const verified_case &added) {
        const bool suits = can_have(variant, added.sizes);
        if (suits) result.push_back(added);
        left_out += suits ? 0 : 1;
        return suits;
    };
    for (std::size_t k = 0; k < records.size(); ++k) {
        const tensor_types &types = records[k].kernel->types;
        const computed what = computed_by(*records[k].kernel);
        for (const call_sizes &sizes : verified_sizes(*records[k].kernel, options.quick)) {
            if (reads_cache(*records[k].kernel) && sizes.q_len > sizes.kv_len) continue;
            auto found = std::find_if(result.begin(), result.end(), [&](const verified_case &c) {
                return c.sizes.batch == sizes.batch && c.sizes.q_len == sizes.q_len && c.sizes.kv_len == sizes.kv_len &&
                       c.options.types == types && c.what == what;
            });
            if (found == result.end()) {
                problem_options how;
                how.fill = static_cast<integer_fill>(result.size() % 3);
                how.seed = options.seed + 16 * result.size();
                how.types = types;
                constexpr std::int64_t page_sizes[] = {64, 7, 1, 300};
                how.page_size = page_sizes[result.size() % 4];
                if (!add({what, sizes, how, {}})) continue;
                found = result.end() - 1;
            }
            found->kernels.push_back(k);
        }
    }
    // Peaked scores, far ones and broadcast keys are other values, hence problems of their own, at the shapes of two
    // tiles.
    for (std::size_t k = 0; k < records.size(); ++k) {
        const std::int64_t queries = records[k].kernel->query_tile, keys = records[k].kernel->key_tile;
        const computed what = computed_by(*records[k].kernel);
        problem_options peaked, broadcast, far;
        peaked.scores = score_kind::peaked;
        peaked.seed = options.seed + 7;
        far.scores = score_kind::far;
        broadcast.how = arrangement::broadcast;
        broadcast.seed = options.seed + 9;
        peaked.types = far.types = broadcast.types = records[k].kernel->types;
        const std::int64_t most = reads_cache(*records[k].kernel) ? keys + 1 : queries + 1;
        add({what, {1, std::min(queries + 1, most), 2 * keys + 1}, peaked, {k}});
        if (!options.quick) add({what, {2, 2 * keys, 2 * keys}, peaked, {k}});
        // Keys of 2^17 fit neither f16 nor, beside smaller elements, i8.
        if (far.types.key != data_type::f16 && far.types.key != data_type::i8)
            add({what, {1, std::min(queries + 1, most), 2 * keys + 1}, far, {k}});
        add({what, {2, std::min(queries + 1, most), keys + 1}, broadcast, {k}});
    }
    return result;
}

class variant_verifier {
  public:
    variant_verifier(const variant_description &variant, const verify_options &options, crash_report &crashes)
        : variant_(variant), options_(options), crashes_(crashes) {
        for (const kernel_description *kernel : select_kernels(variant, options.isas))
            if (is_called(*kernel)) records_.push_back({kernel, 0, {}, {}, {}, {}});
        cases_ = cases_of(variant, records_, options, left_out_);
    }

    std::size_t case_count() const { return cases_.size(); }
    /// Shapes that the declaration cannot have.
    std::size_t left_out() const { return left_out_; }
    const std::vector<kernel_record> &records() const { return records_; }
    const char *name() const { return variant_.name; }
    bool rounds_in_cache(const kernel_description &kernel) const {
        return rounding_in_cache(variant_, kernel.types) > 0.0;
    }

    void run(progress_line &progress) {
        for (std::size_t i = 0; i < cases_.size(); ++i) {
            const verified_case &c = cases_[i];
            progress.step(fmt::format("{} q {} kv {}", variant_.name, c.sizes.q_len, c.sizes.kv_len));
            run_case(c, i);
        }
    }

  private:
    // One way of calling a kernel on a problem.
    struct way {
        arrangement how;
        int threads;
        std::string remark;     ///< what is special, for messages
        nan_keys not_a_number;  ///< of the expected rows
        bool log_sum_exp = true;
        bool in_device_memory = false;  ///< the tensors; only kernels of devices are called so
    };

    void run_case(const verified_case &c, std::size_t index) {
        const problem plain = make_problem(variant_, c.sizes, c.options);
        const std::int64_t row_tile = rows_per_tile(*records_[c.kernels.front()].kernel);
        const expectation expected =
            expect(plain, choose_rows(plain, row_tile, options_.quick ? quick_pair_limit : pair_limit), c.what);
        for (const int threads : options_.threads) check(c, plain, {c.options.how, threads, "", {}}, expected);
        if (c.options.how == arrangement::broadcast) return;
        const int threads = options_.threads[index % options_.threads.size()];
        if (index % 4 == 1) check_same_bits(c, plain);
        if (index % 4 == 2) check(c, plain, {c.options.how, threads, device_memory_remark, {}, true, true}, expected);
        if (index % 4 == 3) check(c, plain, {c.options.how, threads, ", without log_sum_exp", {}, false}, expected);

        // The same values elsewhere in memory, with poison where nobody looks, then where some do.
        constexpr arrangement elsewhere[] = {arrangement::length_major, arrangement::packed, arrangement::padded,
                                             arrangement::reversed};
        problem_options strided = c.options;
        strided.how = elsewhere[index % 4];
        const problem poisoned = make_problem(variant_, c.sizes, strided);
        const std::int64_t unseen = poison_unseen(poisoned);
        const std::string remark = unseen > 0 ? fmt::format(", NaN and inf in {} unseen keys", unseen) : "";
        check(c, poisoned, {strided.how, threads, remark, {}}, expected);
        if (index % 4 == 0)
            check(c, poisoned, {strided.how, threads, remark + device_memory_remark, {}, true, true}, expected);
        strided.how = elsewhere[(index + 2) % 4];
        check_partly_seen(c, make_problem(variant_, c.sizes, strided), strided.how, threads, expected);
    }

    // A NaN that some rows see: those give NaN, and no other row notices.
    void check_partly_seen(const verified_case &c, const problem &of, arrangement how, int threads,
                           const expectation &expected) {
        // A score_mod that turns NaN into a number keeps its rows; what they are is not this check's business.
        const double modified =
            variant_.readings.modified_score(c.sizes, {0, 0, 0, 0}, std::nan(""), of.inputs.reader());
        if (!std::isnan(modified)) return;
        const auto keys = partly_seen_keys(of, c.options.seed);
        bool any = false;
        for (std::size_t i = 0; i < keys.size(); ++i) {
            if (!keys[i]) continue;
            any = true;
            poison_key(of, static_cast<std::int64_t>(i) / variant_.groups,
                       static_cast<std::int64_t>(i) % variant_.groups, *keys[i]);
        }
        if (!any) return;
        nan_keys not_a_number(expected.rows.size(), -1);
        for (std::size_t r = 0; r < expected.rows.size(); ++r) {
            const row_address &address = expected.rows[r];
            const auto &key =
                keys[static_cast<std::size_t>(address.batch * variant_.groups + address.head / of.heads_per_group())];
            if (key && sees(of, address, *key)) not_a_number[r] = *key;
        }
        check(c, of, {how, threads, ", NaN in a key that some rows see", not_a_number}, expected);
    }

    // Two calls with the same arguments give the same bits, whichever thread takes which task.
    void check_same_bits(const verified_case &c, const problem &of) {
        const way how{c.options.how, options_.threads.back(), ", called twice", {}};
        for (const std::size_t k : c.kernels)
            record_call(c, k, how, [&](const kernel_description &kernel) -> std::string {
                const results first = make_results(of, how.how, c.what), second = make_results(of, how.how, c.what);
                for (const results *into : {&first, &second}) {
                    const prepared_call call(of, *into, kernel, how.threads);
                    call();
                    call.fetch_results();
                }
                const bool same =
                    std::memcmp(first.output.all(), second.output.all(), first.output.memory->size()) == 0 &&
                    std::memcmp(first.log_sum_exp.all(), second.log_sum_exp.all(), first.log_sum_exp.memory->size()) ==
                        0;
                return same ? "" : "the results differ in some bits";
            });
    }

    void check(const verified_case &c, const problem &of, const way &how, const expectation &expected) {
        for (const std::size_t k : c.kernels) {
            if (how.in_device_memory && records_[k].kernel->device == device_kind::cpu) continue;
            record_call(c, k, how, [&](const kernel_description &kernel) -> std::string {
                const results actual = make_results(of, how.how, c.what);
                // Without keys there are no weights, and the runtime returns before it writes log_sum_exp.
                const bool log_sum_exp = how.log_sum_exp && has_log_sum_exp(variant_);
                const prepared_call call(of, actual, kernel, how.threads, log_sum_exp, how.in_device_memory);
                call();
                call.fetch_results();
                const double in_cache = reads_cache(kernel) ? rounding_in_cache(variant_, kernel.types) : 0.0;
                const comparison found = compare(of, actual, expected, how.not_a_number, log_sum_exp, in_cache);
                records_[k].of(c.options.scores).merge(found);
                const std::string stray = find_stray_writes(actual, c.what, log_sum_exp);
                return stray.empty() ? found.failure : stray;
            });
        }
    }

    // `call` returns what is wrong.
    template <typename Call>
    void record_call(const verified_case &c, std::size_t k, const way &how, const Call &call) {
        kernel_record &record = records_[k];
        const std::string text =
            fmt::format("{}: batch {}, q_len {}, kv_len {}, threads {}, {}, {}{}", kernel_text(*record.kernel),
                        c.sizes.batch, c.sizes.q_len, c.sizes.kv_len, how.threads, runner::name_of(how.how),
                        name_of(c.options.scores), how.remark);
        crashes_.note(text);
        ++record.calls;
        std::string failure;
        try {
            failure = call(*record.kernel);
        } catch (const std::exception &error) {
            failure = fmt::format("the call failed: {}", error.what());
        }
        if (!failure.empty()) record.failures.push_back(text + "\n    " + failure);
    }

    // What tells the kernel from the others of the library, without what nearly all have.
    std::string kernel_text(const kernel_description &kernel) const {
        const bool is_forward = std::string(kernel.pass) == "forward";
        return fmt::format("{}{}{} {} {}{}", variant_.name, is_forward ? "" : " ", is_forward ? "" : kernel.pass,
                           kernel.schedule, kernel.isa,
                           kernel.types == tensor_types() ? "" : " " + types_text(kernel.types));
    }

    const variant_description &variant_;
    const verify_options &options_;
    crash_report &crashes_;
    std::vector<kernel_record> records_;
    std::vector<verified_case> cases_;
    std::size_t left_out_ = 0;
};

void print_table(const std::vector<variant_verifier> &verifiers) {
    text_table table({"variant", "pass", "schedule", "isa", "dtype", "calls", "error", "log_sum_exp error",
                      "peaked error", "largest error / allowed", "result"});
    for (const variant_verifier &verifier : verifiers)
        for (const kernel_record &record : verifier.records()) {
            const double share =
                std::max({record.ordinary.share_of_bar, record.peaked.share_of_bar, record.far.share_of_bar});
            table.add({verifier.name(), record.kernel->pass, record.kernel->schedule, record.kernel->isa,
                       types_text(record.kernel->types), fmt::format("{}", record.calls),
                       fmt::format("{:.1e}", record.ordinary.output_error),
                       fmt::format("{:.1e}", record.ordinary.log_sum_exp_error),
                       fmt::format("{:.1e}", record.peaked.output_error), fmt::format("{:.3g}", share),
                       record.failures.empty() ? "ok" : fmt::format("FAILED in {} calls", record.failures.size())});
        }
    fmt::print("{}", table.text());
}

void print_failures(const std::vector<variant_verifier> &verifiers) {
    constexpr std::size_t most_shown = 6;
    for (const variant_verifier &verifier : verifiers)
        for (const kernel_record &record : verifier.records()) {
            const std::size_t count = record.failures.size(), shown = std::min(count, most_shown);
            for (std::size_t i = 0; i < shown; ++i) fmt::print("FAILED {}\n", record.failures[i]);
            if (count > shown) fmt::print("  and {} more\n", count - shown);
        }
}

void print_left_out(const std::vector<variant_verifier> &verifiers) {
    for (const variant_verifier &verifier : verifiers)
        if (verifier.left_out() > 0)
            fmt::print("{}: {} shapes left out, in which the declaration reads an input before its first element.\n",
                       verifier.name(), verifier.left_out());
}

// Each storage type has a bar of its own.
void print_largest_errors(const std::map<data_type, double> &errors) {
    std::vector<std::string> parts;
    for (const auto &[type, error] : errors) {
        const double bar = error_bar_of(type);
        const bool rounded = bar > error_bar;
        parts.push_back(fmt::format("{:.1e} in {} ({} {:.{}e}{})", error, heed::name_of(type),
                                    error <= bar ? "within" : "above", bar, rounded ? 1 : 0,
                                    rounded ? ", half a unit in the last place more" : ""));
    }
    if (!parts.empty()) fmt::print("Largest error on ordinary scores: {}.\n", fmt::join(parts, ", "));
}

}  // namespace

int verify(const kernel_library &library, const verify_options &options) {
    const auto begin = std::chrono::steady_clock::now();
    crash_report crashes;
    std::vector<variant_verifier> verifiers;
    std::size_t cases = 0;
    for (const variant_description *variant : select_variants(library, options.names)) {
        verifiers.emplace_back(*variant, options, crashes);
        cases += verifiers.back().case_count();
    }
    {
        progress_line progress(cases);
        for (variant_verifier &verifier : verifiers) verifier.run(progress);
    }
    print_table(verifiers);
    print_failures(verifiers);
    print_left_out(verifiers);
    // Those that were asked for by name run, or selecting them fails.
    if (options.isas.empty()) print_skipped(select_variants(library, options.names));
    std::size_t checked = 0, failed = 0;
    std::map<data_type, double> ordinary;
    double in_cache = 0.0;
    for (const variant_verifier &verifier : verifiers)
        for (const kernel_record &record : verifier.records()) {
            ++checked;
            failed += record.failures.empty() ? 0 : 1;
            if (reads_cache(*record.kernel) && verifier.rounds_in_cache(*record.kernel)) {
                in_cache = std::max(in_cache, record.ordinary.output_error);
                continue;
            }
            double &largest = ordinary[record.kernel->types.output];
            largest = std::max(largest, record.ordinary.output_error);
        }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    fmt::print(
        "{} of {} kernels are right ({:.1f} s). Allowed: {:.0e} of the largest output or weight, or {:.0f} f32 "
        "roundings of the row's scores where that is more.\n",
        checked - failed, checked, seconds, error_bar, score_roundings);
    print_largest_errors(ordinary);
    if (in_cache > 0.0)
        fmt::print(
            "Changed keys and values that a cache rounds as it stores them: {:.1e}, allowed in proportion to the "
            "rounding and the score.\n",
            in_cache);
    if (checked == 0) fmt::print(stderr, "verify: this machine can run none of the kernels\n");
    return failed == 0 && checked > 0 ? 0 : 1;
}

}  // namespace heed::runner
