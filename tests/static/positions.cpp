// SPDX-License-Identifier: MIT
//
// What rotary positions turn by, and the functions that compute it while compiling.
#include <heed/heed.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

using namespace heed;

TEST_CASE("exponential and logarithm while compiling are those of the library") {
    constexpr double at_compile_time[] = {detail::exp_of(1.0L), detail::exp_of(-13.5L), detail::log_of(10000.0L),
                                          detail::log_of(3e-5L)};
    CHECK(at_compile_time[0] == std::exp(1.0));
    CHECK(at_compile_time[1] == doctest::Approx(std::exp(-13.5)).epsilon(1e-15));
    CHECK(at_compile_time[2] == doctest::Approx(std::log(10000.0)).epsilon(1e-15));
    CHECK(at_compile_time[3] == doctest::Approx(std::log(3e-5)).epsilon(1e-15));
    CHECK(detail::log_of(1.0L) == 0);
    CHECK(detail::exp_of(0.0L) == 1);
    for (double x = 1e-10; x < 1e10; x *= 1.37) {
        CHECK(detail::log_of(x) == doctest::Approx(std::log(x)).epsilon(1e-14));
        CHECK(detail::exp_of(std::log(x)) == doctest::Approx(x).epsilon(1e-13));
    }
    CHECK(detail::exp_of(20000.0L) == INFINITY);
    CHECK(detail::exp_of(-20000.0L) == 0);
    for (double x = 1; x < 1e6; x *= 1.7) {
        CHECK(detail::inverse_square_root(x) == doctest::Approx(1 / std::sqrt(x)).epsilon(1e-15));
    }
}

TEST_CASE("frequencies without scaling are powers of theta") {
    for (const double theta : {100.0, 10000.0, 500000.0, 1e7}) {
        for (const int dims : {2, 6, 64, 128, 256}) {
            for (int pair = 0; pair < dims / 2; ++pair) {
                CHECK(detail::rope_frequency(theta, pair, dims, {}) ==
                      doctest::Approx(std::pow(theta, -2.0 * pair / dims)).epsilon(1e-14));
            }
        }
    }
}

TEST_CASE("scaled frequencies: the fast pairs stay, the slow ones are divided by the factor") {
    const auto plain = [](std::int64_t pair) { return detail::rope_frequency(10000, pair, 128, {}); };
    const auto share = [&](const rope_scaling &scaling, std::int64_t pair) {
        return plain(pair) / detail::rope_frequency(10000, pair, 128, scaling);
    };
    for (const std::int64_t pair : {0, 31, 63}) CHECK(share(linear_scaling(4), pair) == doctest::Approx(4));
    const rope_scaling scalings[] = {ntk_scaling(4), yarn_scaling(4, 2048), llama3_scaling(4)};
    for (const rope_scaling &scaling : scalings) {
        CHECK(share(scaling, 0) == doctest::Approx(1));
        CHECK(share(scaling, 63) == doctest::Approx(4));
        for (std::int64_t pair = 1; pair < 64; ++pair) CHECK(share(scaling, pair) >= share(scaling, pair - 1) - 1e-12);
    }
    // Wave lengths of 8192 / 4 and 8192 tokens are the ends of LLaMA's ramp.
    for (std::int64_t pair = 0; pair < 64; ++pair) {
        const double wave = 2 * std::numbers::pi / plain(pair);
        const double by = share(llama3_scaling(), pair);
        if (wave < 2048) CHECK(by == 1);
        if (wave > 8192) CHECK(by == doctest::Approx(8));
        if (wave > 2100 && wave < 8000) CHECK((by > 1 && by < 8));
    }
}

TEST_CASE("YaRN multiplies queries and keys by 0.1 ln(factor) + 1") {
    static_assert(yarn_scaling(1, 4096).attention_factor == 1);
    CHECK(yarn_scaling(32, 4096).attention_factor == doctest::Approx(0.1 * std::log(32.0) + 1));
}

TEST_CASE("angles of large positions are exact to the last digits of a turn") {
    for (const std::int64_t position : {0, 1, -3, 100000, 123456789}) {
        const double turns = 0.1234567;
        const double angle = 2 * std::numbers::pi * std::remainder(static_cast<double>(position) * turns, 1);
        CHECK(arithmetic::cos_of_turns({}, position, turns) == doctest::Approx(std::cos(angle)).epsilon(1e-7));
        CHECK(arithmetic::sin_of_turns({}, position, turns) == doctest::Approx(std::sin(angle)).epsilon(1e-7));
    }
}
