// SPDX-License-Identifier: MIT
//
// Results of attention to parts of the keys, merged, against a softmax over all of them in double precision.
#include <doctest/doctest.h>
#include <heed/merge.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "random_numbers.hpp"
#include "refusal.hpp"

namespace {

using heed::view;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float untouched = -12345.0f;

/// The result of attention for some rows, in row-major tensors.
struct part {
    std::int64_t batch, heads, q_len, value_dim;
    std::vector<float> outputs = std::vector<float>(static_cast<std::size_t>(rows() * value_dim), untouched);
    std::vector<float> sums = std::vector<float>(static_cast<std::size_t>(rows()), untouched);

    std::int64_t rows() const { return batch * heads * q_len; }
    view<float, 4> output() { return {outputs.data(), {batch, heads, q_len, value_dim}}; }
    view<float, 3> log_sum_exp() { return {sums.data(), {batch, heads, q_len}}; }
    float &at(std::int64_t row, std::int64_t dim) { return outputs[static_cast<std::size_t>(row * value_dim + dim)]; }
    float &sum(std::int64_t row) { return sums[static_cast<std::size_t>(row)]; }
};

/// One row for each log-sum-exp; row i holds `first` + i in all its elements.
part part_of(const std::vector<float> &log_sum_exps, float first, std::int64_t value_dim = 3) {
    part made{1, 1, static_cast<std::int64_t>(log_sum_exps.size()), value_dim};
    made.sums = log_sum_exps;
    for (std::int64_t row = 0; row < made.rows(); ++row) {
        for (std::int64_t dim = 0; dim < value_dim; ++dim) {
            made.at(row, dim) = first + static_cast<float>(row);
        }
    }
    return made;
}

part merged(part a, part b) {
    part result{a.batch, a.heads, a.q_len, a.value_dim};
    heed::merge(a.output(), a.log_sum_exp(), b.output(), b.log_sum_exp(), result.output(), result.log_sum_exp());
    return result;
}

/// Scores and values of the keys of one row, and attention to some of them in double precision.
struct keys {
    std::vector<double> scores;
    std::vector<std::vector<double>> values;

    double log_sum_exp(std::size_t begin, std::size_t end) const {
        double largest = -std::numeric_limits<double>::infinity(), sum = 0;
        for (std::size_t i = begin; i < end; ++i) largest = std::fmax(largest, scores[i]);
        for (std::size_t i = begin; i < end; ++i) sum += std::exp(scores[i] - largest);
        return begin == end ? largest : largest + std::log(sum);
    }
    double output(std::size_t begin, std::size_t end, std::size_t dim) const {
        const double total = log_sum_exp(begin, end);
        double sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += std::exp(scores[i] - total) * values[i][dim];
        return sum;
    }
    void attend(std::size_t begin, std::size_t end, part &result, std::int64_t row) const {
        result.sum(row) = static_cast<float>(log_sum_exp(begin, end));
        for (std::int64_t dim = 0; dim < result.value_dim; ++dim) {
            result.at(row, dim) = static_cast<float>(output(begin, end, static_cast<std::size_t>(dim)));
        }
    }
};

keys random_keys(random_numbers &random, std::int64_t value_dim, double largest_score) {
    keys made;
    const double middle = random.real(largest_score);
    for (std::int64_t i = random.integer(0, 12); i > 0; --i) {
        made.scores.push_back(middle + random.real(8));
        std::vector<double> &value = made.values.emplace_back();
        for (std::int64_t dim = 0; dim < value_dim; ++dim) value.push_back(random.real(1));
    }
    return made;
}

}  // namespace

TEST_CASE("parts that are merged are attention to all keys, wherever the keys are split") {
    random_numbers random;
    INFO("HEED_TEST_SEED=", random.seed());
    double worst = 0, worst_sum = 0;
    int empty_parts = 0, empty_rows = 0;
    for (int repeat = 0; repeat < 300; ++repeat) {
        const std::int64_t batch = random.integer(1, 2), heads = random.integer(1, 3), q_len = random.integer(1, 4);
        const std::int64_t value_dim = random.integer(1, 37);
        part a{batch, heads, q_len, value_dim}, b = a, c = a, all = a;
        std::vector<keys> rows;
        for (std::int64_t row = 0; row < all.rows(); ++row) {
            rows.push_back(random_keys(random, value_dim, repeat % 3 == 0 ? 3000 : 10));
            const std::size_t count = rows.back().scores.size();
            const auto last = static_cast<std::int64_t>(count);
            const auto first_split = static_cast<std::size_t>(random.integer(0, last));
            const auto second_split =
                static_cast<std::size_t>(random.integer(static_cast<std::int64_t>(first_split), last));
            rows.back().attend(0, first_split, a, row);
            rows.back().attend(first_split, second_split, b, row);
            rows.back().attend(second_split, count, c, row);
            empty_parts += first_split == 0 || second_split == count;
            empty_rows += count == 0;
        }
        heed::merge(a.output(), a.log_sum_exp(), b.output(), b.log_sum_exp(), all.output(), all.log_sum_exp());
        heed::merge(c.output(), c.log_sum_exp(), all.output(), all.log_sum_exp(), all.output(), all.log_sum_exp());
        for (std::int64_t row = 0; row < all.rows(); ++row) {
            const keys &of_row = rows[static_cast<std::size_t>(row)];
            const std::size_t count = of_row.scores.size();
            const double expected_sum = of_row.log_sum_exp(0, count);
            if (count == 0) {
                CHECK(all.sum(row) == -infinity);
            } else {
                worst_sum = std::fmax(worst_sum,
                                      std::fabs(all.sum(row) - expected_sum) / std::fmax(1, std::fabs(expected_sum)));
            }
            for (std::int64_t dim = 0; dim < value_dim; ++dim) {
                const double expected = of_row.output(0, count, static_cast<std::size_t>(dim));
                REQUIRE(std::isfinite(all.at(row, dim)));
                // What a log-sum-exp of 3000 is rounded by, 1.2e-4, changes the weights.
                worst = std::fmax(worst, std::fabs(all.at(row, dim) - expected) /
                                             std::fmax(1, std::fabs(count == 0 ? 0 : expected_sum)));
            }
        }
    }
    CHECK(worst < 5e-7);
    CHECK(worst_sum < 5e-7);
    CHECK(empty_parts > 100);
    CHECK(empty_rows > 10);
}

TEST_CASE("a part that saw no key leaves the other as it is, whatever its output holds") {
    const std::vector<float> sums = {0.0f, -3.25f, 1e30f, -1e30f, 88.0f, -infinity};
    part some = part_of(sums, 0.1f), none = part_of(std::vector<float>(sums.size(), -infinity), not_a_number);
    for (part result : {merged(some, none), merged(none, some)}) {
        CHECK(result.sums == sums);
        for (std::int64_t row = 0; row < result.rows(); ++row) {
            CHECK(result.at(row, 1) == (row == 5 ? 0.0f : some.at(row, 1)));
        }
    }
}

TEST_CASE("rows that saw no key in either part give 0 and -inf") {
    part result = merged(part_of({-infinity, 0.0f}, 4.0f), part_of({-infinity, 0.0f}, not_a_number));
    for (std::int64_t dim = 0; dim < 3; ++dim) {
        CHECK(result.at(0, dim) == 0.0f);
        CHECK(std::isnan(result.at(1, dim)));
    }
    CHECK(result.sum(0) == -infinity);
    CHECK(result.sum(1) == std::log(2.0f));
}

TEST_CASE("NaN stays NaN, and an infinite sum gives it") {
    for (const float bad : {not_a_number, infinity}) {
        for (const float other : {0.0f, 1e30f, -infinity, infinity, not_a_number}) {
            CAPTURE(bad);
            CAPTURE(other);
            for (part result : {merged(part_of({bad, 0.0f}, 1.0f), part_of({other, 0.0f}, 2.0f)),
                                merged(part_of({other, 0.0f}, 1.0f), part_of({bad, 0.0f}, 2.0f))}) {
                CHECK(std::isnan(result.sum(0)));
                CHECK(std::isnan(result.at(0, 0)));
                CHECK(std::isnan(result.at(0, 2)));
                CHECK(result.at(1, 0) == 2.5f);  // the other row knows nothing of it
            }
        }
    }
    part in_output = part_of({0.0f}, 1.0f);
    in_output.at(0, 1) = not_a_number;
    part result = merged(in_output, part_of({500.0f}, 2.0f));
    CHECK(result.at(0, 0) == 2.0f);
    CHECK(std::isnan(result.at(0, 1)));
    CHECK(result.sum(0) == 500.0f);
}

TEST_CASE("weights of a part do not overflow or vanish together") {
    for (const float sum : {-1e30f, -2e5f, -200.0f, 200.0f, 2e5f, 1e30f}) {
        part result = merged(part_of({sum}, 1.0f), part_of({sum}, 3.0f));
        CHECK(result.at(0, 0) == 2.0f);
        CHECK(result.sum(0) == doctest::Approx(double{sum} + std::log(2.0)));
        CHECK(merged(part_of({sum}, 1.0f), part_of({sum + 1e31f}, 3.0f)).at(0, 0) == 3.0f);
    }
}

TEST_CASE("the result may be either part, and have no log-sum-exp") {
    const part a = part_of({0.5f, 1.0f, -2.0f}, 1.0f, 21), b = part_of({0.25f, -1.0f, 3.0f}, 5.0f, 21);
    const part expected = merged(a, b);
    part into_a = a, into_b = b, without = a, other = b;
    heed::merge(into_a.output(), into_a.log_sum_exp(), other.output(), other.log_sum_exp(), into_a.output(),
                into_a.log_sum_exp());
    CHECK(into_a.outputs == expected.outputs);
    CHECK(into_a.sums == expected.sums);
    part first = a;
    heed::merge(first.output(), first.log_sum_exp(), into_b.output(), into_b.log_sum_exp(), into_b.output(),
                into_b.log_sum_exp());
    CHECK(into_b.outputs == expected.outputs);
    CHECK(into_b.sums == expected.sums);
    heed::merge(without.output(), without.log_sum_exp(), other.output(), other.log_sum_exp(), without.output());
    CHECK(without.outputs == expected.outputs);
    CHECK(without.sums == a.sums);
    // A part merged with itself weighs the same.
    part itself = a;
    heed::merge(itself.output(), itself.log_sum_exp(), itself.output(), itself.log_sum_exp(), itself.output());
    CHECK(itself.outputs == a.outputs);
}

TEST_CASE("strides are free, the last one too, and nothing around a view is written") {
    constexpr std::int64_t batch = 2, heads = 3, q_len = 4, dim = 5;
    part a{batch, heads, q_len, dim}, b = a;
    for (std::int64_t row = 0; row < a.rows(); ++row) {
        a.sum(row) = static_cast<float>(row % 5);
        b.sum(row) = static_cast<float>(row % 3);
        for (std::int64_t d = 0; d < dim; ++d) {
            a.at(row, d) = static_cast<float>(row + d);
            b.at(row, d) = static_cast<float>(row * d);
        }
    }
    part expected = merged(a, b);
    // (batch, length, dim, heads) with a gap behind the heads, written from the back.
    constexpr std::int64_t padded = heads + 1;
    std::vector<float> outputs(batch * q_len * dim * padded, untouched), sums(2 * batch * heads * q_len, untouched);
    const view<float, 4> output{
        outputs.data() + heads - 1, {batch, heads, q_len, dim}, {q_len * dim * padded, -1, dim * padded, padded}};
    const view<float, 3> log_sum_exp{sums.data(), {batch, heads, q_len}, {2, 2 * batch, 2 * batch * heads}};
    heed::merge(a.output(), a.log_sum_exp(), b.output(), b.log_sum_exp(), output, log_sum_exp);
    for (std::int64_t i = 0; i < batch; ++i) {
        for (std::int64_t head = 0; head < heads; ++head) {
            for (std::int64_t row = 0; row < q_len; ++row) {
                const std::int64_t number = (i * heads + head) * q_len + row;
                CHECK(log_sum_exp.data()[i * 2 + head * 2 * batch + row * 2 * batch * heads] == expected.sum(number));
                for (std::int64_t d = 0; d < dim; ++d) {
                    const std::int64_t place = ((i * q_len + row) * dim + d) * padded + heads - 1 - head;
                    CHECK(outputs[static_cast<std::size_t>(place)] == expected.at(number, d));
                }
            }
        }
    }
    for (std::size_t i = heads; i < outputs.size(); i += padded) CHECK(outputs[i] == untouched);
    for (std::size_t i = 1; i < sums.size(); i += 2) CHECK(sums[i] == untouched);

    // Either part may lie like that.
    const part again = merged(expected, b), swapped = merged(b, expected);
    part read = a;
    heed::merge(output, log_sum_exp, b.output(), b.log_sum_exp(), read.output(), read.log_sum_exp());
    CHECK(read.outputs == again.outputs);
    CHECK(read.sums == again.sums);
    heed::merge(b.output(), b.log_sum_exp(), output, log_sum_exp, read.output(), read.log_sum_exp());
    CHECK(read.outputs == swapped.outputs);
    CHECK(read.sums == swapped.sums);

    // One part for all of the batch: stride 0.
    part all = a;
    heed::merge(a.output(), a.log_sum_exp(), {b.outputs.data(), {batch, heads, q_len, dim}, {0, q_len * dim, dim, 1}},
                {b.sums.data(), {batch, heads, q_len}, {0, q_len, 1}}, all.output(), all.log_sum_exp());
    for (std::int64_t row = 0; row < heads * q_len; ++row) {
        b.sum(row + heads * q_len) = b.sum(row);
        for (std::int64_t d = 0; d < dim; ++d) b.at(row + heads * q_len, d) = b.at(row, d);
    }
    part copied = merged(a, b);
    CHECK(all.outputs == copied.outputs);
    CHECK(all.sums == copied.sums);
}

TEST_CASE("no rows are merged into no rows") {
    for (const auto &[batch, q_len] : {std::pair{0, 3}, std::pair{3, 0}}) {
        const view<float, 4> none{nullptr, {batch, 2, q_len, 5}};
        const view<float, 3> no_sums{nullptr, {batch, 2, q_len}};
        CHECK_NOTHROW(heed::merge(none, no_sums, none, no_sums, none, no_sums));
    }
}

TEST_CASE("what cannot be merged is refused and nothing is written") {
    part a = part_of({0.0f, 1.0f}, 1.0f), b = part_of({0.5f, 0.5f}, 2.0f), result{1, 1, 2, 3};
    const auto with_output = [&](const view<float, 4> &output) {
        return refusal([&] {
            heed::merge(a.output(), a.log_sum_exp(), b.output(), b.log_sum_exp(), output, result.log_sum_exp());
        });
    };
    const auto with_sums = [&](const view<float, 3> &log_sum_exp) {
        return refusal([&] {
            heed::merge(a.output(), a.log_sum_exp(), b.output(), b.log_sum_exp(), result.output(), log_sum_exp);
        });
    };
    CHECK(refusal([&] {
              heed::merge(a.output(), {}, b.output(), b.log_sum_exp(), result.output(), result.log_sum_exp());
          }) ==
          "heed::merge: log_sum_exp_a is missing. Fix: pass the results of both parts and output; only log_sum_exp can "
          "be left out");
    CHECK(refusal([&] { heed::merge({}, a.log_sum_exp(), b.output(), b.log_sum_exp(), result.output()); }) !=
          "nothing was refused");
    CHECK(with_output({}) != "nothing was refused");
    part longer{1, 1, 3, 3};
    CHECK(
        refusal([&] { heed::merge(a.output(), a.log_sum_exp(), longer.output(), b.log_sum_exp(), result.output()); }) ==
        "heed::merge: output_b has q_len 3, output_a has q_len 2: they must agree, rows are merged one by one. Fix: "
        "pass results of the same queries. Extents: output_b (1, 1, 3, 3), output_a (1, 1, 2, 3)");
    CHECK(with_output(longer.output()) != "nothing was refused");
    CHECK(with_sums(longer.log_sum_exp()) != "nothing was refused");
    CHECK(
        refusal([&] { heed::merge(a.output(), longer.log_sum_exp(), b.output(), b.log_sum_exp(), result.output()); }) ==
        "heed::merge: log_sum_exp_a has q_len 3, output_a has q_len 2: they must agree, rows are merged one by one. "
        "Fix: pass results of the same queries. Extents: log_sum_exp_a (1, 1, 3), output_a (1, 1, 2, 3)");
    CHECK(refusal([&] {
              heed::merge(a.output(), a.log_sum_exp(), b.output(), longer.log_sum_exp(), result.output());
          }) != "nothing was refused");
    part negative = a;
    negative.q_len = -1;
    CHECK(refusal(
              [&] { heed::merge(negative.output(), a.log_sum_exp(), b.output(), b.log_sum_exp(), result.output()); }) ==
          "heed::merge: output_a has q_len -1, extents are not negative. Fix: pass the extents of the tensor, (1, 1, "
          "-1, 3) cannot be those");
    CHECK(with_output({nullptr, {1, 1, 2, 3}}) ==
          "heed::merge: output is a null pointer but has elements: (1, 1, 2, 3). Fix: pass its memory");
    CHECK(with_output({result.outputs.data(), {1, 1, 2, 3}, {0, 0, INT64_MAX, 1}}) ==
          "heed::merge: output spans more memory than an address can reach: extents (1, 1, 2, 3), strides (0, 0, "
          "9223372036854775807, 1). Fix: pass strides in elements");
    CHECK(with_output({result.outputs.data(), {1, 1, 2, 3}, {0, 0, 2, 1}}) ==
          "heed::merge: output has elements that may share memory, but each is written on its own: extents (1, 1, 2, "
          "3), strides (0, 0, 2, 1). Fix: give it memory for every element");
    CHECK(with_sums({result.sums.data(), {1, 1, 2}, {0, 0, 0}}) != "nothing was refused");
    CHECK(with_output({a.outputs.data(), {1, 1, 2, 3}, {0, 0, 1, 2}}) ==
          "heed::merge: output and output_a overlap, but not element for element: output would be written while "
          "output_a is in use. Fix: give output memory of its own, or that of output_a with the same strides");
    CHECK(with_output({b.outputs.data() + 3, {1, 1, 2, 3}}) ==
          "heed::merge: output and output_b overlap, but not element for element: output would be written while "
          "output_b is in use. Fix: give output memory of its own, or that of output_b with the same strides");
    CHECK(with_sums({b.sums.data() + 1, {1, 1, 2}}) != "nothing was refused");
    CHECK(result.outputs == part{1, 1, 2, 3}.outputs);
    CHECK(result.sums == part{1, 1, 2, 3}.sums);
    // Tensors that are interleaved in one buffer are none of that.
    std::vector<float> packed(12);
    CHECK_NOTHROW(heed::merge({packed.data(), {1, 1, 2, 3}, {0, 0, 6, 1}}, a.log_sum_exp(), b.output(), b.log_sum_exp(),
                              {packed.data() + 3, {1, 1, 2, 3}, {0, 0, 6, 1}}));
}

TEST_CASE("an output and a log_sum_exp that share memory are refused") {
    float memory[16] = {}, part[6] = {}, sums[6] = {};
    using rows = heed::view<float, 4>;
    using sums_of_rows = heed::view<float, 3>;
    const heed::view<const float, 4> output_of_part(part, {1, 2, 3, 1});
    const heed::view<const float, 3> sums_of_part(sums, {1, 2, 3});
    const auto message = [](const auto &...arguments) { return refusal([&] { heed::merge(arguments...); }); };
    const heed::view<const float, 3> inside(memory + 1, {1, 2, 3});
    CHECK(message(output_of_part, inside, output_of_part, sums_of_part, rows(memory + 2, {1, 2, 3, 1})) ==
          "heed::merge: output and log_sum_exp_a overlap: one of them would be written while the other is in use. Fix: "
          "give output memory of its own");
    CHECK(message(output_of_part, sums_of_part, output_of_part, inside, rows(memory + 2, {1, 2, 3, 1})) ==
          "heed::merge: output and log_sum_exp_b overlap: one of them would be written while the other is in use. Fix: "
          "give output memory of its own");
    CHECK(message(output_of_part, sums_of_part, output_of_part, sums_of_part, rows(memory, {1, 2, 3, 1}),
                  sums_of_rows(memory, {1, 2, 3})) ==
          "heed::merge: log_sum_exp and output overlap: one of them would be written while the other is in use. Fix: "
          "give log_sum_exp memory of its own");
    CHECK(message(output_of_part, sums_of_part, output_of_part, sums_of_part, rows(memory, {1, 2, 3, 1}),
                  sums_of_rows(part, {1, 2, 3})) ==
          "heed::merge: log_sum_exp and output_a overlap: one of them would be written while the other is in use. Fix: "
          "give log_sum_exp memory of its own");
    // Each row with its sum behind it.
    CHECK(message(output_of_part, sums_of_part, output_of_part, sums_of_part, rows(memory, {1, 2, 3, 1}, {12, 6, 2, 1}),
                  sums_of_rows(memory + 1, {1, 2, 3}, {12, 6, 2})) == "nothing was refused");
}
