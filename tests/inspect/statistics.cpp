// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "matrices.hpp"

using doctest::Approx;
using heed::inspect::analyse;
using heed::inspect::statistics;

namespace {

std::string refusal(const heed::inspect::attention &of) {
    try {
        analyse(of);
    } catch (const std::invalid_argument &error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("uniform rows have the entropy log n") {
    const matrices uniform_rows(1, 2, 4, uniform(1, 2, 4));
    const statistics found = analyse(uniform_rows.of);
    const auto &head = found.head[0];
    CHECK(head.entropy == Approx(std::log(4.0)));
    CHECK(head.entropy_limit == Approx(std::log(4.0)));
    CHECK(found.row_entropy[1] == Approx(std::log(4.0)));
    CHECK(head.rows == 2);
    CHECK(head.first_token == Approx(0.25));
    CHECK(head.row_sum == Approx(1.0));
    CHECK_FALSE(head.collapsed);
    CHECK(head.weights[6] == 8);  // all above 0.1 and at most 0.5
}

TEST_CASE("the limit counts visible keys only") {
    // A causal mask, uniform rows: entropies 0, log 2, log 3.
    const float third = 1.0f / 3.0f;
    const matrices causal(1, 3, 3, {1, 0, 0, 0.5f, 0.5f, 0, third, third, third});
    const statistics found = analyse(causal.of);
    for (std::size_t row = 0; row < 3; ++row) {
        CHECK(found.row_entropy[row] == Approx(std::log(1.0 + static_cast<double>(row))));
        CHECK(found.row_entropy_limit[row] == Approx(std::log(1.0 + static_cast<double>(row))));
    }
    CHECK(found.head[0].lowest_entropy == 0.0);
    CHECK(found.head[0].highest_entropy == Approx(std::log(3.0)));
}

TEST_CASE("one-hot rows have the entropy 0, and what they look at is found") {
    // Head 0 looks at itself, head 1 at the key before (row 0 at itself), head 2 always at key 2.
    const matrices one_hot(3, 3, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1,  //
                                     1, 0, 0, 1, 0, 0, 0, 1, 0,  //
                                     0, 0, 1, 0, 0, 1, 0, 0, 1});
    heed::inspect::attention of = one_hot.of;
    of.visible = [](auto, auto, auto, auto) { return true; };
    const statistics found = analyse(of);
    for (const auto &head : found.head) CHECK(head.entropy == 0.0);
    CHECK(found.head[0].diagonal == Approx(1.0));
    CHECK(found.head[0].previous_token == Approx(0.0));
    // Row 0 has no key before it.
    CHECK(found.head[1].previous_token == Approx(1.0));
    CHECK(found.head[1].diagonal == Approx(1.0 / 3.0));
    CHECK_FALSE(found.head[0].collapsed);
    CHECK(found.head[2].collapsed);
    CHECK(found.head[2].strongest_key == 2);
    CHECK(found.head[2].strongest_share == Approx(1.0));
    CHECK(found.head[2].first_token == Approx(0.0));
}

TEST_CASE("positions follow the start of the queries") {
    // One query on three keys: it stands at the last one, unless told otherwise.
    const matrices last(1, 1, 3, {0.2f, 0.3f, 0.5f});
    CHECK(analyse(last.of).head[0].diagonal == Approx(0.5));
    CHECK(analyse(last.of).head[0].previous_token == Approx(0.3));
    heed::inspect::attention first = last.of;
    first.query_start = {1};
    CHECK(analyse(first).head[0].diagonal == Approx(0.3));
    CHECK(analyse(first).head[0].previous_token == Approx(0.2));
}

TEST_CASE("heads that do the same are found, and others are not") {
    const matrices four(4, 2, 2,
                        {0.9f, 0.1f, 0.2f, 0.8f,  //
                         0.9f, 0.1f, 0.2f, 0.8f,  // the same
                         1, 0, 1, 0,              //
                         0, 1, 0, 1});            // nothing in common with the one before
    heed::inspect::attention of = four.of;
    of.visible = [](auto, auto, auto, auto) { return true; };
    const statistics found = analyse(of);
    CHECK(found.similarity_of(0, 1) == Approx(1.0));
    CHECK(found.similarity_of(1, 0) == Approx(1.0));
    CHECK(found.similarity_of(2, 3) == Approx(0.0));
    // Row 0 of heads 0 and 2: entropies of the mean, (0.95, 0.05), less half of (0.9, 0.1)'s; row 1: (0.6, 0.4), (0.2,
    // 0.8).
    const auto entropy = [](double p) { return -p * std::log(p) - (1 - p) * std::log(1 - p); };
    const double divergence = 0.5 * (entropy(0.95) - 0.5 * entropy(0.9) + entropy(0.6) - 0.5 * entropy(0.2));
    CHECK(found.similarity_of(0, 2) == Approx(1.0 - divergence / std::log(2.0)));
    REQUIRE(found.alike.size() == 1);
    CHECK(found.alike[0].first == 0);
    CHECK(found.alike[0].second == 1);
}

TEST_CASE("shares are of the weight of the row, whatever it sums to") {
    // As with a sink_logit: half of each row is nowhere.
    const matrices half(1, 1, 2, {0.25f, 0.25f});
    const auto head = analyse(half.of).head[0];
    CHECK(head.row_sum == Approx(0.5));
    CHECK(head.entropy == Approx(std::log(2.0)));
    CHECK(head.first_token == Approx(0.5));
    // Weights of both signs count by their magnitude.
    const matrices both_signs(1, 1, 2, {0.5f, -0.5f});
    CHECK(analyse(both_signs.of).head[0].entropy == Approx(std::log(2.0)));
    CHECK(analyse(both_signs.of).head[0].row_sum == Approx(0.0));
}

TEST_CASE("rows without weight and rows with NaN are left out and counted") {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const matrices rows(1, 3, 2, {0, 0, nan, 1, 0.5f, 0.5f});
    const statistics found = analyse(rows.of);
    const auto &head = found.head[0];
    CHECK(head.rows == 1);
    CHECK(head.empty_rows == 1);
    CHECK(head.bad_rows == 1);
    CHECK(head.entropy == Approx(std::log(2.0)));
    CHECK(std::isnan(found.row_entropy[0]));
    CHECK(std::isnan(found.row_entropy[1]));
}

TEST_CASE("a head without any row is similar to nothing") {
    const matrices empty(2, 1, 2, {0, 0, 0.5f, 0.5f});
    const statistics found = analyse(empty.of);
    CHECK(std::isnan(found.similarity_of(0, 1)));
    CHECK(std::isnan(found.similarity_of(0, 0)));
    CHECK(found.alike.empty());
    CHECK_FALSE(found.head[0].collapsed);
    const matrices no_keys(1, 2, 0, {});
    CHECK(analyse(no_keys.of).head[0].empty_rows == 2);
}

TEST_CASE("scores are log(weight) + log_sum_exp") {
    // Scores 1, 3 and one that is -inf; the log-sum-exp is log(e + e^3).
    const double sum = std::exp(1.0) + std::exp(3.0);
    matrices softmax(1, 1, 3, {static_cast<float>(std::exp(1.0) / sum), static_cast<float>(std::exp(3.0) / sum), 0});
    const float lse = static_cast<float>(std::log(sum));
    softmax.of.log_sum_exp = {&lse, {1, 1, 1}};
    const auto scores = analyse(softmax.of).head[0].scores;
    CHECK(scores.count == 2);
    CHECK(scores.lowest == Approx(1.0).epsilon(1e-6));
    CHECK(scores.highest == Approx(3.0).epsilon(1e-6));
    CHECK(scores.mean == Approx(2.0).epsilon(1e-6));
    CHECK(scores.deviation == Approx(1.0).epsilon(1e-6));
    CHECK(scores.bins.front() == 1);
    CHECK(scores.bins.back() == 1);
}

TEST_CASE("strides are free") {
    // Stored (kv_len, heads): head h looks at key h.
    const std::vector<float> transposed = {1, 0, 0, 1};
    heed::inspect::attention of;
    of.weights = {transposed.data(), {1, 2, 1, 2}, {4, 1, 4, 2}};
    const statistics found = analyse(of);
    CHECK(found.head[0].strongest_key == 0);
    CHECK(found.head[1].strongest_key == 1);
}

TEST_CASE("what does not fit together is refused with both numbers") {
    const matrices two(2, 1, 3, uniform(2, 1, 3));
    heed::inspect::attention of = two.of;
    of.key_labels = {"a", "b"};
    CHECK(contains(refusal(of), "2 key labels for 3 keys"));
    of = two.of;
    of.query_labels = {"a", "b"};
    CHECK(contains(refusal(of), "2 query labels for 1 queries"));
    of = two.of;
    of.heads_per_layer = 3;
    CHECK(contains(refusal(of), "2 heads are no layers of 3 heads"));
    of = two.of;
    of.query_start = {0, 0};
    CHECK(contains(refusal(of), "2 query starts for a batch of 1"));
    of = two.of;
    const float lse[3] = {};
    of.log_sum_exp = {lse, {1, 3, 1}};
    CHECK(contains(refusal(of), "log_sum_exp (1, 3, 1) beside weights (1, 2, 1, 3)"));
    CHECK(contains(refusal({}), "no weights"));
}
