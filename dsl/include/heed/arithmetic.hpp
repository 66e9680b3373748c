// SPDX-License-Identifier: MIT
//
// The functions that operators call on values. C++ operators (+ - * < && ...) are used as they are; everything else
// goes through the functions here, because types disagree about it: which way '/' rounds, what 'abs' returns, how a
// constant is made.
//
// To evaluate expressions over a type of your own, write overloads in namespace heed::arithmetic, taking `tag` first
// and then your type by const reference. They are found through the tag, so they may be declared after this header.
//
//     namespace heed::arithmetic {
//     my_value floor_divide(tag, const my_value &a, const my_value &b);
//     }
//
// floor_divide, floor_modulo and to_real must be given; for ranges is_finite and constant_like too. The others default
// to the functions abs, min, max, select, exp, log, sqrt, tanh, cos, sin and floor of the type's own namespace;
// overload those that differ (Halide's abs of an int32 is a uint32). They have other names here (minimum for min)
// because a `min` of another library that takes any number of arguments would take the tag for one of them.
#pragma once

#include <heed/detail/philox.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>

namespace heed::arithmetic {

/// First argument of every function of this namespace.
struct tag {};

// Types of other libraries: the function of the same name in the type's own namespace.

// clang-format off
template <class T> constexpr auto absolute(tag, const T &a) { return abs(a); }
template <class T> constexpr auto exp(tag, const T &a) { return exp(a); }
template <class T> constexpr auto log(tag, const T &a) { return log(a); }
template <class T> constexpr auto sqrt(tag, const T &a) { return sqrt(a); }
template <class T> constexpr auto tanh(tag, const T &a) { return tanh(a); }
template <class T> constexpr auto cos(tag, const T &a) { return cos(a); }
template <class T> constexpr auto sin(tag, const T &a) { return sin(a); }
template <class T> constexpr auto floor(tag, const T &a) { return floor(a); }
template <class T> constexpr auto minimum(tag, const T &a, const T &b) { return min(a, b); }
template <class T> constexpr auto maximum(tag, const T &a, const T &b) { return max(a, b); }
template <class T> constexpr auto quotient(tag, const T &a, const T &b) { return a / b; }
template <class T> constexpr auto bound_of_sum(tag, const T &a, const T &b) { return a + b; }
template <class T> constexpr auto bound_of_difference(tag, const T &a, const T &b) { return a - b; }
template <class T> constexpr auto bound_of_product(tag, const T &a, const T &b) { return a * b; }
template <class T> constexpr auto is_less(tag, const T &a, const T &b) { return a < b; }
template <class T> constexpr auto is_less_equal(tag, const T &a, const T &b) { return a <= b; }
template <class T> constexpr auto is_equal(tag, const T &a, const T &b) { return a == b; }
template <class Condition, class T> constexpr auto choose(tag, const Condition &condition, const T &a, const T &b) { return select(condition, a, b); }
// clang-format on

// Numbers of C++.

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

template <Number T>
constexpr T absolute(tag, const T &a) {
    return a < T{0} ? -a : a;
}

// NaN if one of both is.

template <Number T>
constexpr T minimum(tag, const T &a, const T &b) {
    return b < a || b != b ? b : a;
}

template <Number T>
constexpr T maximum(tag, const T &a, const T &b) {
    return a < b || b != b ? b : a;
}

template <Number T>
constexpr T choose(tag, bool condition, const T &a, const T &b) {
    return condition ? a : b;
}

// clang-format off
template <std::floating_point T> T exp(tag, const T &a) { return std::exp(a); }
template <std::floating_point T> T log(tag, const T &a) { return std::log(a); }
template <std::floating_point T> T sqrt(tag, const T &a) { return std::sqrt(a); }
template <std::floating_point T> T tanh(tag, const T &a) { return std::tanh(a); }
template <std::floating_point T> T cos(tag, const T &a) { return std::cos(a); }
template <std::floating_point T> T sin(tag, const T &a) { return std::sin(a); }
// clang-format on

/// The angle of `position` times `turns` turns, between -pi and pi.
inline double angle_of_turns(std::int64_t position, double turns) {
    const double all = static_cast<double>(position) * turns;
    return 2 * std::numbers::pi * (all - std::nearbyint(all));
}

inline double cos_of_turns(tag, std::int64_t position, double turns) {
    return std::cos(angle_of_turns(position, turns));
}

inline double sin_of_turns(tag, std::int64_t position, double turns) {
    return std::sin(angle_of_turns(position, turns));
}

/// A number in [0, 1) in steps of 2^-24, which single precision holds exactly.
constexpr double uniform_random(tag, std::int64_t seed, std::int64_t batch, std::int64_t head, std::int64_t row,
                                std::int64_t key) {
    const auto word = [](std::int64_t number) { return static_cast<std::uint32_t>(number); };
    const auto words = detail::philox<std::uint32_t>(
        {word(key >> 2), word(row), word(head), word(batch)}, {word(seed), 0},
        [](std::uint32_t a, std::uint32_t b) { return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32); });
    return (words[static_cast<std::size_t>(key & 3)] >> 8) * 0x1p-24;
}

/// The largest whole number not above `a`, as a real number. Usable at compile time.
template <std::floating_point T>
constexpr T floor(tag, const T &a) {
    constexpr T all_whole_from = T{1} / std::numeric_limits<T>::epsilon();
    if (!(absolute(tag{}, a) < all_whole_from)) {
        return a;
    }
    const T towards_zero = static_cast<T>(static_cast<std::int64_t>(a));
    return towards_zero > a ? towards_zero - 1 : towards_zero;
}

/// Division of whole numbers that rounds down, also for negative numbers; 0 if the divisor is 0.
template <std::integral T>
constexpr T floor_divide(tag, const T &a, const T &b) {
    if (b == 0) {
        return 0;
    }
    const T quotient = a / b;
    return a % b != 0 && (a % b < 0) != (b < 0) ? quotient - 1 : quotient;
}

/// a - b * floor_divide(a, b), so the sign is the divisor's; 0 if the divisor is 0.
template <std::integral T>
constexpr T floor_modulo(tag, const T &a, const T &b) {
    if (b == 0) {
        return 0;
    }
    const T remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

/// A whole number as a real number.
template <std::integral T>
constexpr double to_real(tag, const T &a) {
    return static_cast<double>(a);
}

/// True if `a` is neither infinite nor NaN.
template <Number T>
constexpr bool is_finite(tag, const T &a) {
    return a >= std::numeric_limits<T>::lowest() && a <= std::numeric_limits<T>::max();
}

/// `value` as a number of the type of `like`.
template <Number T>
constexpr T constant_like(tag, const T & /*like*/, std::int64_t value) {
    return static_cast<T>(value);
}

}  // namespace heed::arithmetic
