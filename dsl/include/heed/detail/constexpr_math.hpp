// SPDX-License-Identifier: MIT
//
// Functions that the standard library has at run time only.
#pragma once

#include <heed/detail/needs_cpp20.hpp>

#include <numbers>

namespace heed::detail {

/// 1 / sqrt(x) for x >= 1: Newton's iteration for the root from above, in more digits than the result has.
constexpr double inverse_square_root(long double x) {
    long double root = x;
    long double next = (root + x / root) / 2;
    while (next < root) {
        root = next;
        next = (root + x / root) / 2;
    }
    return static_cast<double>(1 / root);
}

/// e^x: the series after halving the argument into [-1/2, 1/2], then squaring as often.
constexpr double exp_of(long double x) {
    if (x > 11000 || x < -11000) return x > 0 ? 1e300 * 1e300 : 0;
    int halvings = 0;
    while (x > 0.5L || x < -0.5L) {
        x /= 2;
        ++halvings;
    }
    long double sum = 1, term = 1;
    for (int i = 1; i < 25; ++i) sum += term *= x / i;
    while (halvings-- > 0) sum *= sum;
    return static_cast<double>(sum);
}

/// Natural logarithm of x > 0: 2 artanh((m - 1) / (m + 1)) of the mantissa.
constexpr double log_of(long double x) {
    if (!(x > 0)) return 0;
    int exponent = 0;
    for (; x > 1.5L; ++exponent) x /= 2;
    for (; x < 0.75L; --exponent) x *= 2;
    const long double z = (x - 1) / (x + 1);
    long double sum = 0, power = z;
    for (int i = 1; i < 60; i += 2, power *= z * z) sum += power / i;
    return static_cast<double>(2 * sum + exponent * std::numbers::ln2_v<long double>);
}

}  // namespace heed::detail
