// SPDX-License-Identifier: MIT
//
// Scores against formulas and tables from the papers.
#include <heed/heed.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace heed;

namespace {

template <std::int64_t Heads>
std::vector<double> slopes() {
    std::vector<double> result;
    for (int h = 0; h < Heads; ++h) {
        result.push_back(evaluate(alibi_slope(int_<Heads>{}), environment_of({.head = h})));
    }
    return result;
}

/// get_slopes of the authors (github.com/ofirpress/attention_with_linear_biases), written again.
std::vector<double> slopes_by_the_authors(int heads) {
    int power = 1;
    while (power * 2 <= heads) {
        power *= 2;
    }
    std::vector<double> result;
    const double start = std::pow(2.0, -std::pow(2.0, -(std::log2(power) - 3)));
    for (int i = 0; i < power; ++i) {
        result.push_back(start * std::pow(start, i));
    }
    if (power < heads) {
        const std::vector<double> longer = slopes_by_the_authors(2 * power);
        for (int i = 0; power + i < heads; ++i) {
            result.push_back(longer[static_cast<std::size_t>(2 * i)]);
        }
    }
    return result;
}

template <std::int64_t Heads>
void check_slopes() {
    CAPTURE(Heads);
    const auto ours = slopes<Heads>();
    const auto theirs = slopes_by_the_authors(Heads);
    REQUIRE(ours.size() == theirs.size());
    for (std::size_t h = 0; h < ours.size(); ++h) {
        CAPTURE(h);
        CHECK(ours[h] == doctest::Approx(theirs[h]).epsilon(1e-14));
    }
}

}  // namespace

TEST_CASE("alibi's slopes are the authors', for any number of heads") {
    CHECK(slopes<8>().front() == doctest::Approx(0.5).epsilon(1e-15));
    CHECK(slopes<8>().back() == doctest::Approx(1.0 / 256).epsilon(1e-15));
    check_slopes<1>();
    check_slopes<2>();
    check_slopes<3>();
    check_slopes<7>();
    check_slopes<8>();
    check_slopes<12>();
    check_slopes<16>();
    check_slopes<25>();
    check_slopes<32>();
    check_slopes<71>();
    check_slopes<112>();
}

TEST_CASE("alibi lowers the score by slope times distance") {
    const auto at = [](std::int64_t q, std::int64_t kv) {
        return evaluate(alibi(8_c), environment_of({.q = q, .kv = kv, .head = 1}, 3.0));
    };
    CHECK(at(5, 5) == doctest::Approx(3.0));
    CHECK(at(9, 5) == doctest::Approx(3.0 - 0.25 * 4));
    CHECK(at(5, 9) == doctest::Approx(3.0 - 0.25 * 4));
}

TEST_CASE("alibi_bias is what alibi adds to the score") {
    const auto ten = [](auto, std::int64_t) { return 10.0; };
    const auto at = [&](auto expression, std::int64_t q, std::int64_t kv, std::int64_t h) {
        return evaluate(expression, environment_of({.q = q, .kv = kv, .head = h}, 3.0, ten));
    };
    CHECK(at(alibi_bias(8_c), 9, 5, 1) == doctest::Approx(-0.25 * 4));
    CHECK(at(score + alibi_bias(8_c), 5, 9, 1) == doctest::Approx(3.0 - 0.25 * 4));
    CHECK(at(alibi_bias(6_c), 3, 1, 4) == doctest::Approx(-0.5 * 2));
    CHECK(at(alibi(8_c) + input<"bias">[kv_pos], 9, 5, 1) == doctest::Approx(13.0 - 0.25 * 4));
    // Not a second whole score: no rule stands against these.
    CHECK(at(softcap(score, 30.0) + alibi_bias(8_c), 5, 5, 0) == doctest::Approx(30 * std::tanh(0.1)));
    CHECK(at(softcap(alibi(8_c), 30.0) + 1.0, 5, 5, 0) == doctest::Approx(30 * std::tanh(0.1) + 1));
}

TEST_CASE("kerple_log_bias") {
    const auto at = [](std::int64_t q, std::int64_t kv) {
        return evaluate(kerple_log_bias(2.0, 0.5), environment_of({.q = q, .kv = kv}));
    };
    CHECK(at(4, 4) == 0.0);
    CHECK(at(6, 0) == doctest::Approx(-2 * std::log(4.0)));
    CHECK(at(0, 6) == doctest::Approx(-2 * std::log(4.0)));
}

TEST_CASE("temperature and scales") {
    const auto read = [](auto, std::int64_t h) { return h == 2 ? 0.5 : 4.0; };
    const auto at = [&](auto expression, std::int64_t q, std::int64_t h) {
        return evaluate(expression, environment_of({.q = q, .kv = 0, .head = h}, 3.0, read));
    };
    CHECK(at(temperature(score, 2.0), 0, 0) == 1.5);
    CHECK(at(temperature(score, 2_c), 0, 0) == 1.5);
    CHECK(at(temperature(score, input<"t">[head]), 0, 2) == 6.0);
    CHECK(at(scaled_by_head(score, input<"head_scale">), 0, 2) == 1.5);
    CHECK(at(scaled_by_head(score, input<"head_scale">), 0, 1) == 12.0);
    CHECK(at(scaled_by_log_length(score, 0.5), 0, 0) == 0.0);
    CHECK(at(scaled_by_log_length(score, input<"s">[head]), 99, 2) == doctest::Approx(3 * 0.5 * std::log(100.0)));
    CHECK(at(scaled_by_log_position(score), 8190, 0) == 3.0);
    CHECK(at(scaled_by_log_position(score), 8191, 0) == doctest::Approx(3 * (1 + 0.1 * std::log(2.0))));
    CHECK(at(scaled_by_log_position(score, 10_c, 0.5), 29, 0) == doctest::Approx(3 * (1 + 0.5 * std::log(4.0))));
}

TEST_CASE("a bias may leave indices out") {
    const auto bias = [](auto, std::int64_t h, std::int64_t kv) { return static_cast<double>(100 * h + kv); };
    CHECK(evaluate(score + input<"bias">(head, kv_pos), environment_of({.q = 8, .kv = 5, .head = 2}, 0.5, bias)) ==
          205.5);
}

TEST_CASE("softcap is close to the score near 0 and stays below the cap") {
    const auto capped = [](double value) { return evaluate(softcap(score, 30.0), environment_of({}, value)); };
    CHECK(capped(0.0) == 0.0);
    CHECK(capped(0.01) == doctest::Approx(0.01).epsilon(1e-6));
    CHECK(capped(12.0) == doctest::Approx(30 * std::tanh(12.0 / 30)).epsilon(1e-15));
    CHECK(capped(1e6) == 30.0);
    CHECK(capped(-1e6) == -30.0);
}

TEST_CASE("functions of real numbers") {
    const auto at = [](auto expression, double value) { return evaluate(expression, environment_of({}, value)); };
    CHECK(at(exp(score), 1.5) == std::exp(1.5));
    CHECK(at(log(score), 1.5) == std::log(1.5));
    CHECK(at(sqrt(score), 1.5) == std::sqrt(1.5));
    CHECK(at(tanh(score), 1.5) == std::tanh(1.5));
    for (const double value :
         {-1e300, -4.5e15, -2.5, -2.0, -0.25, 0.0, 0.25, 2.0, 2.5, 4.5e15, 1e300, HUGE_VAL, -HUGE_VAL}) {
        CHECK(at(floor(score), value) == std::floor(value));
    }
    CHECK(std::isnan(at(floor(score), std::nan(""))));
}
