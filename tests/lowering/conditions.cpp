// SPDX-License-Identifier: MIT
//
// Masks as Halide computes them: of one pair, like the scalar reading; of a tile, like the range reading in numbers,
// and never against what the pairs of the tile say.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "masks.hpp"

using namespace heed;
using namespace heed::tests;
using Halide::Expr;

namespace {

struct tile_results {
    Halide::Buffer<int> of_pair, may, must, may_of_one_head, must_of_one_head;
};

/// What a lookup gives over the tile of a sample, found by reading it at every pair of one side.
generators::value_range range_of(const generators::range_table &table, const generators::tile_values &tile,
                                 const Halide::Var &sample, const generators::input_lookup &look_up) {
    const Halide::RDom r(0, 8, 0, 2, "pairs_of_side");  // no tile of the samples is larger
    const auto within = [](const generators::value_range &range, const Expr &offset) {
        return Halide::min(range.lowest + offset, range.highest);
    };
    generators::pair_values pair;
    pair.q_pos = table.by_key ? tile.q_pos.lowest : within(tile.q_pos, r.x);
    pair.q_row = table.by_key ? tile.q_row.lowest : within(tile.q_row, r.x);
    pair.kv_pos = table.by_key ? within(tile.kv_pos, r.x) : tile.kv_pos.lowest;
    pair.head = table.by_key ? tile.head.lowest : within(tile.head, r.y);
    pair.batch = tile.batch;
    pair.q_len = tile.q_len;
    pair.kv_len = tile.kv_len;
    const Expr element = table.element(pair, look_up);
    Halide::Func lowest("lowest"), highest("highest"), not_finite("not_finite");
    lowest(sample) = table.type.max();
    highest(sample) = table.type.min();
    not_finite(sample) = Halide::Internal::const_false();
    lowest(sample) = Halide::min(lowest(sample), element);
    highest(sample) = Halide::max(highest(sample), element);
    not_finite(sample) = not_finite(sample) || !arithmetic::is_finite(arithmetic::tag{}, element);
    for (Halide::Func each : {lowest, highest, not_finite}) each.compute_root();
    if (!table.type.is_float()) return {lowest(sample), highest(sample)};
    const Expr infinite = Halide::Internal::make_const(table.type, std::numeric_limits<double>::infinity());
    return {Halide::select(not_finite(sample), infinite, lowest(sample)),
            Halide::select(not_finite(sample), infinite, highest(sample))};
}

/// The readings of Halide for all samples, compiled as a kernel would be: in vectors.
tile_results compute(const generators::variant_source &source, const tile_samples &samples, const looked_up &inputs) {
    const Halide::Var sample("sample");
    const auto at = [&](field what) { return samples(Expr(sample), what); };
    const generators::input_lookup look_up = inputs.expressions(source);
    const auto tile_of = [&](bool one_head) {
        generators::tile_values tile{.q_pos = {at(q_lowest), at(q_highest)},
                                     .kv_pos = {at(kv_lowest), at(kv_highest)},
                                     .head = {at(head_lowest), one_head ? at(head_lowest) : at(head_highest)},
                                     .one_head = one_head,
                                     .batch = at(batch_number),
                                     .q_len = at(q_length),
                                     .kv_len = at(kv_length),
                                     .q_row = {at(q_lowest), at(q_highest)}};
        tile.range_of = [tile, sample, &look_up](const generators::range_table &table) {
            return range_of(table, tile, sample, look_up);
        };
        return tile;
    };
    const generators::pair_values pair{.score = Expr(),
                                       .q_pos = at(q_lowest),
                                       .kv_pos = at(kv_lowest),
                                       .head = at(head_lowest),
                                       .batch = at(batch_number),
                                       .q_len = at(q_length),
                                       .kv_len = at(kv_length)};
    const generators::tile_condition of_tile = source.classify(tile_of(false), look_up);
    const generators::tile_condition of_one_head = source.classify(tile_of(true), look_up);
    Halide::Func readings("readings");
    readings(sample) = Halide::Tuple(as_int(source.mask(pair, look_up)), as_int(of_tile.may), as_int(of_tile.must),
                                     as_int(of_one_head.may), as_int(of_one_head.must));
    readings.vectorize(sample, 8, Halide::TailStrategy::GuardWithIf);
    const Halide::Realization all = readings.realize({samples.count()});
    return {all[0], all[1], all[2], all[3], all[4]};
}

std::string text_of(const pair_tile &tile) {
    const auto range = [](const interval<std::int64_t> &bounds) {
        std::ostringstream text;
        text << "[" << bounds.lowest << ", " << bounds.highest << "]";
        return text.str();
    };
    std::ostringstream text;
    text << "q " << range(tile.q) << ", kv " << range(tile.kv) << ", head " << range(tile.head) << ", batch "
         << tile.batch << ", q_len " << tile.q_len << ", kv_len " << tile.kv_len;
    return text.str();
}

/// How many tiles are decided: all pairs, or none.
int check(const mask_case &mask) {
    const tile_samples samples(600);
    const looked_up inputs;
    const tile_results got = compute(mask.source, samples, inputs);

    int decided = 0;
    for (int i = 0; i < samples.count(); ++i) {
        const pair_tile tile = samples.tile(i);
        INFO(mask.source.formula, "\n", text_of(tile), ", HEED_TEST_SEED=", seed());

        token_pair pair{.q = tile.q.lowest,
                        .kv = tile.kv.lowest,
                        .head = tile.head.lowest,
                        .batch = tile.batch,
                        .q_len = tile.q_len,
                        .kv_len = tile.kv_len};
        CHECK(got.of_pair(i) == int{mask.attends(pair, inputs)});

        const truth<bool> numbers = mask.truth_of_tile(tile, inputs);
        CHECK(got.may(i) == int{numbers.may});
        CHECK(got.must(i) == int{numbers.must});
        decided += numbers.may == numbers.must ? 1 : 0;

        bool any = false, all = true, any_of_one_head = false, all_of_one_head = true;
        for (pair.q = tile.q.lowest; pair.q <= tile.q.highest; ++pair.q) {
            for (pair.kv = tile.kv.lowest; pair.kv <= tile.kv.highest; ++pair.kv) {
                for (pair.head = tile.head.lowest; pair.head <= tile.head.highest; ++pair.head) {
                    const bool attends = mask.attends(pair, inputs);
                    any = any || attends;
                    all = all && attends;
                    if (pair.head != tile.head.lowest) continue;
                    any_of_one_head = any_of_one_head || attends;
                    all_of_one_head = all_of_one_head && attends;
                }
            }
        }
        CHECK((!any || got.may(i) == 1));
        CHECK((all || got.must(i) == 0));
        CHECK((!any_of_one_head || got.may_of_one_head(i) == 1));
        CHECK((all_of_one_head || got.must_of_one_head(i) == 0));
    }
    return decided;
}

}  // namespace

TEST_CASE("masks of pairs and tiles: Halide, numbers and brute force agree") {
    for (const mask_case &mask : mask_cases()) check(mask);
}

TEST_CASE("tiles of positions are decided, not just never wrong") {
    // "May, not must" would agree with everything.
    const std::map<std::string, int> at_least{
        {"no_later_key", 400}, {"window", 300}, {"near", 200},  {"padding", 300},     {"below_rate", 200},
        {"chunks", 300},       {"prefix", 200}, {"image", 100}, {"near_blocks", 100}, {"image_windows", 100}};
    int found = 0;
    for (const mask_case &mask : mask_cases()) {
        const auto expected = at_least.find(mask.name);
        if (expected == at_least.end()) continue;
        CHECK(check(mask) > expected->second);
        ++found;
    }
    CHECK(found == 10);
}
