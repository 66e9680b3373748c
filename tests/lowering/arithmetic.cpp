// SPDX-License-Identifier: MIT
//
// The functions of the language on Halide expressions against those on numbers.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "arithmetic.hpp"
#include "samples.hpp"

using namespace heed;
using namespace heed::tests;
using Halide::Expr;

namespace {

constexpr arithmetic::tag tag{};

std::vector<int> from_to(int first, int last) {
    std::vector<int> all;
    for (int i = first; i <= last; ++i) all.push_back(i);
    return all;
}

template <class T>
Halide::Buffer<T> in_buffer(const std::vector<T> &values) {
    Halide::Buffer<T> buffer(static_cast<int>(values.size()));
    std::copy(values.begin(), values.end(), buffer.begin());
    return buffer;
}

/// `function` of every value, compiled for vectors of `lanes`.
template <class T>
std::vector<T> compute(const std::vector<T> &values, int lanes, const std::function<Expr(Expr)> &function) {
    const Halide::Buffer<T> source = in_buffer(values);
    const Halide::Var i("i");
    Halide::Func f("f");
    f(i) = function(source(i));
    if (lanes > 1) f.vectorize(i, lanes, Halide::TailStrategy::GuardWithIf);
    const Halide::Buffer<T> results = f.realize({source.dim(0).extent()});
    return {results.begin(), results.end()};
}

/// Whole numbers made of every pair of values: [n](i, j) is function n of values i and j.
template <class T>
std::vector<Halide::Buffer<int>> compute_pairs(const std::vector<T> &left, const std::vector<T> &right, int lanes,
                                               const std::function<std::vector<Expr>(Expr, Expr)> &functions) {
    const Halide::Buffer<T> lefts = in_buffer(left), rights = in_buffer(right);
    const Halide::Var i("i"), j("j");
    Halide::Func f("f");
    std::vector<Expr> results = functions(lefts(i), rights(j));
    for (Expr &result : results) result = Halide::cast<int>(result);
    f(i, j) = Halide::Tuple(results);
    if (lanes > 1) f.vectorize(i, lanes, Halide::TailStrategy::GuardWithIf);
    const Halide::Realization all = f.realize({lefts.dim(0).extent(), rights.dim(0).extent()});
    std::vector<Halide::Buffer<int>> buffers;
    for (std::size_t n = 0; n < all.size(); ++n) buffers.emplace_back(all[n]);
    return buffers;
}

std::vector<float> numbers_up_to(float end) {
    std::vector<float> all{0.0f, -0.0f, 1e-40f, -1e-40f, 1e-30f, -1e-30f};
    for (int i = -2000; i <= 2000; ++i) all.push_back(end * static_cast<float>(i) / 2000);
    return all;
}

const std::vector<float> not_numbers = [] {
    std::vector<float> all;
    for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xff800001u, 0x7fffffffu, 0xffffffffu}) {
        all.emplace_back();
        std::memcpy(&all.back(), &bits, sizeof bits);
    }
    return all;
}();

/// Largest error relative to the result.
double error_of(const std::vector<float> &at, const std::vector<float> &results, double (*exact)(double)) {
    double largest = 0;
    for (std::size_t i = 0; i < at.size(); ++i) {
        const double should_be = exact(double{at[i]});
        // Below the normal numbers there are fewer digits.
        const double unit = std::max(std::fabs(should_be), 1e-37);
        const double error = std::fabs(double{results[i]} - should_be) / unit;
        if (!(error <= largest)) largest = error;
    }
    return largest;
}

}  // namespace

TEST_CASE("division and remainder round down, whatever the signs, and give 0 for a divisor of 0") {
    const std::vector<int> dividends = from_to(-40, 40), divisors = from_to(-9, 9);
    const auto check = [&](const std::vector<Halide::Buffer<int>> &got, int column, int divisor) {
        for (std::size_t i = 0; i < dividends.size(); ++i) {
            CAPTURE(dividends[i]);
            CAPTURE(divisor);
            CHECK(got[0](static_cast<int>(i), column) == floor_divide(tag, dividends[i], divisor));
            CHECK(got[1](static_cast<int>(i), column) == floor_modulo(tag, dividends[i], divisor));
        }
    };
    for (const int lanes : {1, 8}) {
        const auto got = compute_pairs(dividends, divisors, lanes, [](Expr a, Expr b) {
            return std::vector{floor_divide(tag, a, b), floor_modulo(tag, a, b)};
        });
        for (std::size_t j = 0; j < divisors.size(); ++j) check(got, static_cast<int>(j), divisors[j]);
    }
    for (const int divisor : divisors) {
        // The divisor known while compiling, then both.
        const auto got = compute_pairs(dividends, {0}, 8, [&](Expr a, Expr) {
            return std::vector{floor_divide(tag, a, Expr(divisor)), floor_modulo(tag, a, Expr(divisor))};
        });
        check(got, 0, divisor);
        for (const int dividend : dividends) {
            const auto folded = [](const Expr &e) {
                return Halide::Internal::as_const_int(Halide::Internal::simplify(e));
            };
            CHECK(folded(floor_divide(tag, Expr(dividend), Expr(divisor))) == floor_divide(tag, dividend, divisor));
            CHECK(folded(floor_modulo(tag, Expr(dividend), Expr(divisor))) == floor_modulo(tag, dividend, divisor));
        }
    }
}

TEST_CASE("abs of whole numbers stays a whole number with a sign") {
    const std::vector<int> values = from_to(-5, 5);
    const auto results = compute(values, 1, [](Expr a) { return absolute(tag, a) - 3; });
    for (std::size_t i = 0; i < values.size(); ++i) CHECK(results[i] == std::abs(values[i]) - 3);
    CHECK(absolute(tag, Expr(-3)).type() == Halide::Int(32));
}

TEST_CASE("tanh, exp and log are accurate, and NaN stays NaN, in min and max too") {
    const auto tanh_of = [](Expr a) { return tanh(tag, a); };
    const auto exp_of = [](Expr a) { return exp(tag, a); };
    const auto log_of = [](Expr a) { return log(tag, a); };
    std::vector<float> positive;
    for (const float value : numbers_up_to(50)) positive.push_back(std::exp(value));
    for (const int lanes : {1, 4, 8, 16}) {
        CAPTURE(lanes);
        for (const float end : {0.1f, 12.0f, 1e30f}) {
            const std::vector<float> values = numbers_up_to(end);
            CHECK(error_of(values, compute(values, lanes, tanh_of), std::tanh) < 1e-6);
        }
        const std::vector<float> exponents = numbers_up_to(80);
        CHECK(error_of(exponents, compute(exponents, lanes, exp_of), std::exp) < 1e-6);
        const auto logarithms = compute(positive, lanes, log_of);
        for (std::size_t i = 0; i < positive.size(); ++i) {
            const double exact = std::log(double{positive[i]});
            CHECK(std::fabs(logarithms[i] - exact) <= 3e-7 * std::max(1.0, std::fabs(exact)));
        }
        const auto least = [](Expr a) { return minimum(tag, maximum(tag, Expr(-2.0f), a), Expr(3.0f)); };
        const auto most = [](Expr a) { return maximum(tag, minimum(tag, a, Expr(3.0f)), Expr(-2.0f)); };
        for (const auto &function : {std::function<Expr(Expr)>(tanh_of), {exp_of}, {log_of}, {least}, {most}}) {
            for (const float result : compute(not_numbers, lanes, function)) CHECK(std::isnan(result));
        }
        const std::vector<float> ends{infinity, -infinity};
        CHECK(error_of(ends, compute(ends, lanes, tanh_of), std::tanh) < 1e-6);
        const std::vector<float> large{88.0f, 89.0f, 1e4f, 1.6e9f, 3e38f, infinity};
        const auto powers = compute(large, lanes, exp_of);
        CHECK(powers[0] == doctest::Approx(std::exp(88.0)));
        for (std::size_t i = 1; i < large.size(); ++i) {
            CHECK(powers[i] == infinity);
            CHECK(compute(std::vector<float>{-large[i]}, lanes, exp_of)[0] < 1e-38f);
        }
    }
}

TEST_CASE("a bound of a product stays within 32 bits") {
    const auto bound = [](int a, int b) { return Halide::Internal::simplify(bound_of_product(tag, Expr(a), Expr(b))); };
    CHECK(Halide::Internal::is_const(bound(70000, 60000), INT32_MAX));
    CHECK(Halide::Internal::is_const(bound(-70000, 60000), INT32_MIN));
    CHECK(Halide::Internal::is_const(bound(-300, 200), -60000));
}

TEST_CASE("e^x of the softmax: accurate, 1 at 0, 0 far below, NaN for NaN") {
    const auto exponential = [](Expr x) { return generators::exp_of_nonpositive(x); };
    for (const int lanes : {1, 8, 16}) {
        CAPTURE(lanes);
        // x itself is only known to half a unit of its last digit.
        for (const float lowest : {1.0f, 10.0f, 40.0f}) {
            std::vector<float> values;
            for (int i = 0; i <= 10000; ++i) values.push_back(-lowest * static_cast<float>(i) / 10000);
            CHECK(error_of(values, compute(values, lanes, exponential), std::exp) < 3e-7 + 6e-8 * double{lowest});
        }
        const std::vector<float> far{-50, -87.4f, -88, -100, -104, -1e3f, -1e10f, -3e38f, -infinity};
        for (const float result : compute(far, lanes, exponential)) CHECK(result == 0.0f);
        for (const float result : compute(std::vector<float>{0.0f, -0.0f}, lanes, exponential)) CHECK(result == 1.0f);
        for (const float result : compute(not_numbers, lanes, exponential)) CHECK(std::isnan(result));
    }
}

TEST_CASE("comparisons with NaN are false, their negations true") {
    std::vector<float> values{0.0f, -0.0f, 1.0f, -1.0f, infinity, -infinity, 1e-40f};
    values.insert(values.end(), not_numbers.begin(), not_numbers.end());
    for (const int lanes : {1, 8}) {
        const auto got = compute_pairs(values, values, lanes, [](Expr a, Expr b) {
            return std::vector{is_less(tag, a, b),        !is_less(tag, a, b), is_less_equal(tag, a, b),
                               !is_less_equal(tag, a, b), is_equal(tag, a, b), !is_equal(tag, a, b),
                               is_finite(tag, a)};
        });
        for (std::size_t i = 0; i < values.size(); ++i) {
            for (std::size_t j = 0; j < values.size(); ++j) {
                const float a = values[i], b = values[j];
                CAPTURE(a);
                CAPTURE(b);
                const auto result = [&](std::size_t which) {
                    return got[which](static_cast<int>(i), static_cast<int>(j)) == 1;
                };
                CHECK(result(0) == (a < b));
                CHECK(result(1) == !(a < b));
                CHECK(result(2) == (a <= b));
                CHECK(result(3) == !(a <= b));
                CHECK(result(4) == (a == b));
                CHECK(result(5) == !(a == b));
                CHECK(result(6) == std::isfinite(a));
            }
        }
    }
}
