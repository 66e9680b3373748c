// SPDX-License-Identifier: MIT
//
// Random expressions in the scalar, range and text readings against brute force: an interpreter that shares no code
// with them. Reproduce a failure by its seed, which decides the expression, and HEED_TEST_SEED, which decides the
// places.
#include "random_expressions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace heed;
using namespace heed::tests;

namespace {

constexpr int tiles_of_each = 300;

std::uint64_t seed_of_places() {
    const char *given = std::getenv("HEED_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
}

class dice {
    std::mt19937_64 random_;

  public:
    explicit dice(std::uint64_t salt) : random_(seed_of_places() + 0x9e3779b97f4a7c15u * salt) {}

    std::int64_t operator()(std::int64_t lowest, std::int64_t highest) {
        return lowest + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(highest - lowest + 1));
    }
};

pair_place random_place(dice &roll) {
    return {.score = static_cast<double>(roll(-400, 400)) / 32,
            .q_pos = roll(-10, 30),
            .kv_pos = roll(0, 30),
            .head = roll(0, 3),
            .batch = roll(0, 11),
            .q_len = roll(1, 12),
            .kv_len = roll(1, 30)};
}

pair_tile random_tile(dice &roll) {
    const auto some = [&](std::int64_t lowest, std::int64_t highest, std::int64_t longest) {
        const std::int64_t first = roll(0, 3) == 0 ? 0 : roll(lowest, highest);  // 0 is where rules differ
        return interval<std::int64_t>{first, first + roll(0, longest)};
    };
    return {.q = some(-10, 25, 5),
            .kv = some(0, 25, 5),
            .head = some(0, 3, 1),
            .batch = roll(0, 11),
            .q_len = roll(1, 12),
            .kv_len = roll(1, 30)};
}

template <class Function>
void for_each_place(const pair_tile &tile, Function function) {
    pair_place where{.batch = tile.batch, .q_len = tile.q_len, .kv_len = tile.kv_len};
    for (where.q_pos = tile.q.lowest; where.q_pos <= tile.q.highest; ++where.q_pos) {
        for (where.kv_pos = tile.kv.lowest; where.kv_pos <= tile.kv.highest; ++where.kv_pos) {
            for (where.head = tile.head.lowest; where.head <= tile.head.highest; ++where.head) function(where);
        }
    }
}

/// The same kind and value; real numbers may be rounded differently in `tolerance` of their size.
bool same_value(const any_value &a, const any_value &b, double tolerance) {
    if (a.index() != b.index()) return false;
    if (a == b || tolerance == 0 || !std::holds_alternative<double>(a)) {
        return a == b || (std::holds_alternative<double>(a) && std::isnan(std::get<double>(a)) &&
                          std::isnan(std::get<double>(b)));
    }
    const double x = std::get<double>(a), y = std::get<double>(b);
    return (std::isnan(x) && std::isnan(y)) || std::fabs(x - y) <= tolerance * (1 + std::fabs(y));
}

std::string text_of(const any_value &value) {
    return std::visit([](auto v) { return std::to_string(v); }, value);
}

std::string text_of(const pair_place &at) {
    std::ostringstream text;
    text << "score " << at.score << ", q_pos " << at.q_pos << ", kv_pos " << at.kv_pos << ", head " << at.head
         << ", batch " << at.batch << ", q_len " << at.q_len << ", kv_len " << at.kv_len;
    return text.str();
}

std::string text_of(const random_expression &expression) {
    std::ostringstream text;
    text << "seed " << expression.seed << ", HEED_TEST_SEED=" << seed_of_places() << "\n" << expression.text;
    return text.str();
}

void check_values(const random_expression &expression, double tolerance) {
    const std::string which = text_of(expression);
    const tree read_back = parsed(expression.text);
    dice roll(expression.seed);
    for (int i = 0; i < 200; ++i) {
        const pair_place where = random_place(roll);
        const any_value expected = expression.meaning.at(where);
        const any_value got = expression.at(where);
        const any_value of_text = read_back.at(where);
        INFO(which, "\n", text_of(where), "\nexpected ", text_of(expected), ", scalar ", text_of(got), ", text ",
             text_of(of_text));
        REQUIRE(same_value(got, expected, tolerance));
        REQUIRE(same_value(of_text, expected, tolerance));
    }
}

void check_truth(const random_expression &expression, int &decided) {
    const std::string which = text_of(expression);
    dice roll(expression.seed + 1);
    for (int i = 0; i < tiles_of_each; ++i) {
        const pair_tile tile = random_tile(roll);
        const truth<bool> known = expression.truth_within(tile);
        bool any = false, all = true;
        for_each_place(tile, [&](const pair_place &where) {
            const bool holds = std::get<bool>(expression.meaning.at(where));
            any = any || holds;
            all = all && holds;
        });
        const pair_place corner{.q_pos = tile.q.lowest,
                                .kv_pos = tile.kv.lowest,
                                .head = tile.head.lowest,
                                .batch = tile.batch,
                                .q_len = tile.q_len,
                                .kv_len = tile.kv_len};
        INFO(which, "\nfrom ", text_of(corner), " to q_pos ", tile.q.highest, ", kv_pos ", tile.kv.highest, ", head ",
             tile.head.highest);
        REQUIRE((known.may || !any));
        REQUIRE((!known.must || all));
        decided += known.may == known.must ? 1 : 0;
    }
}

void check_range(const random_expression &expression, int &bounded) {
    const std::string which = text_of(expression);
    dice roll(expression.seed + 2);
    for (int i = 0; i < tiles_of_each; ++i) {
        const pair_tile tile = random_tile(roll);
        const std::optional<known_range> known = expression.range_within(tile);
        if (!known) continue;
        ++bounded;
        for_each_place(tile, [&](const pair_place &where) {
            const any_value found = expression.meaning.at(where);
            const double value = std::holds_alternative<double>(found)
                                     ? std::get<double>(found)
                                     : static_cast<double>(std::get<std::int64_t>(found));
            INFO(which, "\n", text_of(where), "\n", value, " in [", known->lowest, ", ", known->highest, "]");
            REQUIRE(known->lowest <= value);
            REQUIRE(value <= known->highest);
        });
    }
}

std::vector<random_expression> all_masks() {
    std::vector<random_expression> all = random_masks();
    for (random_expression &one : more_random_masks()) all.push_back(std::move(one));
    return all;
}

}  // namespace

TEST_CASE("random masks: values, text, and tiles") {
    int decided = 0, tiles = 0;
    for (const random_expression &mask : all_masks()) {
        check_values(mask, 0);
        check_truth(mask, decided);
        tiles += tiles_of_each;
    }
    INFO(decided, " of ", tiles, " tiles decided");
    CHECK(decided > tiles / 4);  // "may, not must" would never be wrong
}

TEST_CASE("random numbers: values, text, and ranges") {
    int bounded = 0, tiles = 0;
    for (const random_expression &number : random_numbers()) {
        check_values(number, 0);
        check_range(number, bounded);
        tiles += tiles_of_each;
    }
    INFO(bounded, " of ", tiles, " ranges known");
    CHECK(bounded > tiles / 4);
}

TEST_CASE("random scores: values and text") {
    for (const random_expression &score : random_scores()) check_values(score, 1e-9);
}

TEST_CASE("several hundred random expressions are distinct, and no mask is trivial too often") {
    std::set<std::string> texts;
    int varied = 0, masks = 0;
    for (const random_expression &mask : all_masks()) {
        texts.insert(mask.text);
        dice roll(7);
        bool any = false, all = true;
        for (int i = 0; i < 300; ++i) {
            const bool holds = std::get<bool>(mask.meaning.at(random_place(roll)));
            any = any || holds;
            all = all && holds;
        }
        varied += any && !all ? 1 : 0;
        ++masks;
    }
    for (const random_expression &number : random_numbers()) texts.insert(number.text);
    for (const random_expression &score : random_scores()) texts.insert(score.text);
    INFO(texts.size(), " distinct expressions, ", varied, " of ", masks, " masks vary");
    CHECK(texts.size() > 350);
    CHECK(varied > masks / 2);
}
