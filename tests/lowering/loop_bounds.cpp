// SPDX-License-Identifier: MIT
//
// What Halide's solver makes of a mask. Kernels, and Halide itself where it trims loops, rely on it: a key for which
// the condition holds must never lie outside of the outer interval, nor one for which it does not hold inside of the
// inner one. Halide has been wrong here, so a way to write a condition is not used before it is in this test.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "masks.hpp"

using namespace heed;
using namespace heed::tests;
using Halide::Expr;
using Halide::Internal::Interval;

namespace {

constexpr int first_key = -16, key_count = 64;

Expr variable(const char *name) { return Halide::Internal::Variable::make(Halide::Int(32), name); }

/// The first or last key of an interval, or of all numbers.
Expr end_of(const Interval &interval, bool lowest) {
    constexpr int first = std::numeric_limits<int>::min(), last = std::numeric_limits<int>::max();
    if (interval.is_empty()) return lowest ? last : first;
    if (lowest) return interval.has_lower_bound() ? interval.min : Expr(first);
    return interval.has_upper_bound() ? interval.max : Expr(last);
}

/// Checks the intervals of "key" in which each condition may and must hold, with `replacements` for other variables.
void check(const std::vector<Expr> &conditions, const std::map<std::string, Expr> &replacements,
           const Halide::Var &sample, int sample_count) {
    const auto in_samples = [&](const Expr &e) { return Halide::Internal::substitute(replacements, e); };
    const Halide::Var key("key_number");
    std::vector<Expr> ends, truths;
    for (const Expr &condition : conditions) {
        for (const Interval &interval : {Halide::Internal::solve_for_outer_interval(condition, "key"),
                                         Halide::Internal::solve_for_inner_interval(condition, "key")}) {
            ends.push_back(in_samples(end_of(interval, true)));
            ends.push_back(in_samples(end_of(interval, false)));
        }
        truths.push_back(as_int(Halide::Internal::substitute("key", key + first_key, in_samples(condition))));
    }
    Halide::Func solved("solved"), computed("computed");
    solved(sample) = Halide::Tuple(ends);
    computed(key, sample) = Halide::Tuple(truths);
    const Halide::Realization bounds = solved.realize({sample_count}),
                              holds = computed.realize({key_count, sample_count});

    for (std::size_t c = 0; c < conditions.size(); ++c) {
        const Halide::Buffer<int> outer_lowest = bounds[4 * c], outer_highest = bounds[4 * c + 1],
                                  inner_lowest = bounds[4 * c + 2], inner_highest = bounds[4 * c + 3],
                                  holds_at = holds[c];
        for (int i = 0; i < sample_count; ++i) {
            INFO("condition ", c, ", sample ", i, ": outer [", outer_lowest(i), ", ", outer_highest(i), "], inner [",
                 inner_lowest(i), ", ", inner_highest(i), "], HEED_TEST_SEED=", seed());
            for (int k = 0; k < key_count; ++k) {
                const int at = first_key + k;
                CAPTURE(at);
                if (holds_at(k, i) == 1) {
                    CHECK((outer_lowest(i) <= at && at <= outer_highest(i)));
                } else {
                    CHECK((at < inner_lowest(i) || inner_highest(i) < at));
                }
            }
        }
    }
}

void check_mask(const mask_case &mask) {
    const tile_samples samples(60, 1);
    const looked_up inputs;
    const generators::variant_source &source = mask.source;
    const generators::input_lookup look_up = inputs.expressions(source);
    const Halide::Var sample("sample");
    const auto at = [&](field what) { return samples(Expr(sample), what); };
    const std::map<std::string, Expr> replacements{{"q_lowest", at(q_lowest)}, {"q_highest", at(q_highest)},
                                                   {"head", at(head_lowest)},  {"batch", at(batch_number)},
                                                   {"q_len", at(q_length)},    {"kv_len", at(kv_length)}};

    const generators::pair_values pair{.score = Expr(),
                                       .q_pos = variable("q_lowest"),
                                       .kv_pos = variable("key"),
                                       .head = variable("head"),
                                       .batch = variable("batch"),
                                       .q_len = variable("q_len"),
                                       .kv_len = variable("kv_len")};
    const generators::tile_values tile{.q_pos = {variable("q_lowest"), variable("q_highest")},
                                       .kv_pos = {variable("key"), variable("key") + 2},
                                       .head = {variable("head"), variable("head")},
                                       .one_head = true,
                                       .batch = variable("batch"),
                                       .q_len = variable("q_len"),
                                       .kv_len = variable("kv_len")};
    const generators::tile_condition of_tile = source.classify(tile, look_up);
    INFO(source.formula);
    check({source.mask(pair, look_up), of_tile.may, of_tile.must}, replacements, sample, samples.count());
}

}  // namespace

TEST_CASE("Halide's solver never contradicts a mask") {
    for (const mask_case &mask : mask_cases()) check_mask(mask);
}
