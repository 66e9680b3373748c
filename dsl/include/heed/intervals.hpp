// SPDX-License-Identifier: MIT
//
// Values of the range reading: what is known of an expression over a whole tile of queries and keys. Every function
// here is sound: whatever value the operands take within what is known of them, the result lies within what is
// answered. Where nothing can be said the answer is `unknown`, for a condition "may, not must".
//
// `T` is a number, or an expression of the generator, whose value only the kernel knows. What is known already while
// compiling stays in types (std::true_type, std::false_type, unknown), so no constant of T's conditions is ever needed.
#pragma once

#include <heed/arithmetic.hpp>

#include <concepts>
#include <type_traits>

namespace heed {

/// Nothing is known: any number, NaN included, or either truth value.
struct unknown {};

/// One value, the same for every pair of the tile. A number or a condition.
template <class T>
struct point {
    T value;
};
template <class T>
point(T) -> point<T>;

/// Whole numbers from `lowest` to `highest`, both included.
template <class T>
struct interval {
    T lowest;
    T highest;
};
template <class T>
interval(T, T) -> interval<T>;

/// Real numbers from `lowest` to `highest`. Where `holds` is false nothing is known: a bound left the finite numbers,
/// so there may be infinities or NaN between.
template <class T, class Holds = std::true_type>
struct real_interval {
    T lowest;
    T highest;
    Holds holds{};
};
template <class T>
real_interval(T, T) -> real_interval<T>;
template <class T, class Holds>
real_interval(T, T, Holds) -> real_interval<T, Holds>;

/// A condition over the tile. `may`: perhaps true for some pair; `must`: true for every pair. Never `must` without
/// `may`.
template <class May, class Must = May>
struct truth {
    May may;
    Must must;
};
template <class May, class Must>
truth(May, Must) -> truth<May, Must>;

namespace intervals {

// clang-format off
template <class T> inline constexpr bool is_point = false;
template <class T> inline constexpr bool is_point<point<T>> = true;
template <class T> inline constexpr bool is_real_interval = false;
template <class T, class Holds> inline constexpr bool is_real_interval<real_interval<T, Holds>> = true;
template <class T> inline constexpr bool is_truth = false;
template <class May, class Must> inline constexpr bool is_truth<truth<May, Must>> = true;
template <class T> concept Unknown = std::same_as<T, unknown>;
// clang-format on

// Logic in which an operand may be known while compiling.

template <class A, class B>
constexpr auto both(const A &a, const B &b) {
    if constexpr (std::same_as<A, std::false_type> || std::same_as<B, std::false_type>) {
        return std::false_type{};
    } else if constexpr (std::same_as<A, std::true_type>) {
        return b;
    } else if constexpr (std::same_as<B, std::true_type>) {
        return a;
    } else {
        return a && b;
    }
}

template <class A, class B>
constexpr auto either(const A &a, const B &b) {
    if constexpr (std::same_as<A, std::true_type> || std::same_as<B, std::true_type>) {
        return std::true_type{};
    } else if constexpr (std::same_as<A, std::false_type>) {
        return b;
    } else if constexpr (std::same_as<B, std::false_type>) {
        return a;
    } else {
        return a || b;
    }
}

template <class A>
constexpr auto negation(const A &a) {
    if constexpr (std::same_as<A, std::true_type>) {
        return std::false_type{};
    } else if constexpr (std::same_as<A, std::false_type>) {
        return std::true_type{};
    } else {
        return !a;
    }
}

/// What is known of a condition, as a truth.
template <class T>
constexpr auto as_truth(const T &condition) {
    if constexpr (Unknown<T>) {
        return truth{std::true_type{}, std::false_type{}};
    } else if constexpr (is_point<T>) {
        return truth{condition.value, condition.value};
    } else {
        static_assert(is_truth<T>, "heed: this is the range of a number, not of a condition.");
        return condition;
    }
}

// Numbers. A rule gives the bounds of the result from those of the operands; the functions below apply it to whole and
// to real numbers, and answer `unknown` if nothing is known of an operand.

template <class T>
struct bounds {
    T lowest;
    T highest;
};
template <class T>
bounds(T, T) -> bounds<T>;

template <class T>
constexpr auto bounds_of(const T &range) {
    if constexpr (is_point<T>) {
        return bounds{range.value, range.value};
    } else {
        return bounds{range.lowest, range.highest};
    }
}

/// True if the range is known to hold finite numbers only.
template <class T>
constexpr auto is_bounded(const T &range) {
    if constexpr (is_point<T>) {
        return is_finite(arithmetic::tag{}, range.value);
    } else {
        return range.holds;
    }
}

constexpr std::true_type all_of() { return {}; }

template <class First, class... Rest>
constexpr auto all_of(const First &first, const Rest &...rest) {
    return both(first, all_of(rest...));
}

template <class Rule, class... Ranges>
constexpr auto numbers(const Rule &rule, const Ranges &...ranges) {
    if constexpr ((Unknown<Ranges> || ...)) {
        return unknown{};
    } else {
        const auto result = rule(bounds_of(ranges)...);
        if constexpr ((is_real_interval<Ranges> || ...)) {
            return real_interval{result.lowest, result.highest,
                                 all_of(is_bounded(ranges)..., is_finite(arithmetic::tag{}, result.lowest),
                                        is_finite(arithmetic::tag{}, result.highest))};
        } else {
            return interval{result.lowest, result.highest};
        }
    }
}

template <class A, class B>
constexpr auto add(const A &a, const B &b) {
    return numbers(
        [](const auto &x, const auto &y) {
            constexpr arithmetic::tag t{};
            return bounds{bound_of_sum(t, x.lowest, y.lowest), bound_of_sum(t, x.highest, y.highest)};
        },
        a, b);
}

template <class A>
constexpr auto negate(const A &a) {
    return numbers([](const auto &x) { return bounds{-x.highest, -x.lowest}; }, a);
}

template <class A, class B>
constexpr auto subtract(const A &a, const B &b) {
    return numbers(
        [](const auto &x, const auto &y) {
            constexpr arithmetic::tag t{};
            return bounds{bound_of_difference(t, x.lowest, y.highest), bound_of_difference(t, x.highest, y.lowest)};
        },
        a, b);
}

/// Bounds of two values of which either may be the lower one.
template <class T>
constexpr auto in_order(const T &a, const T &b) {
    return bounds{minimum(arithmetic::tag{}, a, b), maximum(arithmetic::tag{}, a, b)};
}

/// Smallest bounds around both.
template <class T>
constexpr auto around(const bounds<T> &a, const bounds<T> &b) {
    return bounds{minimum(arithmetic::tag{}, a.lowest, b.lowest), maximum(arithmetic::tag{}, a.highest, b.highest)};
}

template <class A, class B>
constexpr auto multiply(const A &a, const B &b) {
    if constexpr (is_point<A>) {
        return multiply(b, a);
    } else if constexpr (is_point<B>) {
        return numbers([](const auto &x, const auto &y) { return in_order(x.lowest * y.lowest, x.highest * y.lowest); },
                       a, b);
    } else {
        return numbers(
            [](const auto &x, const auto &y) {
                const auto bound = [](const auto &p, const auto &q) {
                    return bound_of_product(arithmetic::tag{}, p, q);
                };
                return around(in_order(bound(x.lowest, y.lowest), bound(x.lowest, y.highest)),
                              in_order(bound(x.highest, y.lowest), bound(x.highest, y.highest)));
            },
            a, b);
    }
}

/// Only a divisor that is the same everywhere keeps the order of the dividends.
template <class A, class B>
constexpr auto divide(const A &a, const B &b) {
    if constexpr (is_point<B>) {
        return numbers(
            [](const auto &x, const auto &y) {
                constexpr arithmetic::tag t{};
                return in_order(quotient(t, x.lowest, y.lowest), quotient(t, x.highest, y.lowest));
            },
            a, b);
    } else {
        return unknown{};
    }
}

template <class A, class B>
constexpr auto floor_divide(const A &a, const B &b) {
    if constexpr (is_point<B>) {
        return numbers(
            [](const auto &x, const auto &y) {
                return in_order(floor_divide(arithmetic::tag{}, x.lowest, y.lowest),
                                floor_divide(arithmetic::tag{}, x.highest, y.lowest));
            },
            a, b);
    } else {
        return unknown{};
    }
}

/// Exact where all dividends have the same quotient; every remainder there can be otherwise.
template <class A, class B>
constexpr auto floor_modulo(const A &a, const B &b) {
    if constexpr (is_point<B>) {
        return numbers(
            [](const auto &x, const auto &y) {
                constexpr arithmetic::tag t{};
                const auto &divisor = y.lowest;
                const auto one = constant_like(t, divisor, 1);
                const auto zero = constant_like(t, divisor, 0);
                // The second condition follows from the first, and is often known when the kernel is compiled.
                const auto same =
                    is_equal(t, floor_divide(t, x.lowest, divisor), floor_divide(t, x.highest, divisor)) &&
                    is_less(t, x.highest - x.lowest, absolute(t, divisor));
                return bounds{choose(t, same, floor_modulo(t, x.lowest, divisor), minimum(t, divisor + one, zero)),
                              choose(t, same, floor_modulo(t, x.highest, divisor), maximum(t, divisor - one, zero))};
            },
            a, b);
    } else {
        return unknown{};
    }
}

template <class A, class B>
constexpr auto minimum(const A &a, const B &b) {
    return numbers(
        [](const auto &x, const auto &y) {
            constexpr arithmetic::tag t{};
            return bounds{minimum(t, x.lowest, y.lowest), minimum(t, x.highest, y.highest)};
        },
        a, b);
}

template <class A, class B>
constexpr auto maximum(const A &a, const B &b) {
    return numbers(
        [](const auto &x, const auto &y) {
            constexpr arithmetic::tag t{};
            return bounds{maximum(t, x.lowest, y.lowest), maximum(t, x.highest, y.highest)};
        },
        a, b);
}

template <class A>
constexpr auto absolute(const A &a) {
    return numbers(
        [](const auto &x) {
            constexpr arithmetic::tag t{};
            const auto zero = constant_like(t, x.lowest, 0);
            return bounds{maximum(t, maximum(t, x.lowest, -x.highest), zero), maximum(t, x.highest, -x.lowest)};
        },
        a);
}

template <class A>
constexpr auto round_down(const A &a) {
    return numbers(
        [](const auto &x) {
            constexpr arithmetic::tag t{};
            return bounds{floor(t, x.lowest), floor(t, x.highest)};
        },
        a);
}

template <class A>
constexpr auto to_real(const A &a) {
    if constexpr (Unknown<A>) {
        return unknown{};
    } else {
        constexpr arithmetic::tag t{};
        return real_interval{to_real(t, a.lowest), to_real(t, a.highest)};
    }
}

// Conditions.

template <class A>
constexpr auto logical_not(const A &a) {
    const auto condition = as_truth(a);
    return truth{negation(condition.must), negation(condition.may)};
}

template <class A, class B>
constexpr auto logical_and(const A &a, const B &b) {
    const auto x = as_truth(a);
    const auto y = as_truth(b);
    return truth{both(x.may, y.may), both(x.must, y.must)};
}

template <class A, class B>
constexpr auto logical_or(const A &a, const B &b) {
    const auto x = as_truth(a);
    const auto y = as_truth(b);
    return truth{either(x.may, y.may), either(x.must, y.must)};
}

/// A comparison with a point is right for any point, an infinity or NaN too; only intervals must hold.
template <class T>
constexpr auto is_comparable(const T &range) {
    if constexpr (is_real_interval<T>) {
        return range.holds;
    } else {
        return std::true_type{};
    }
}

template <class May, class Must, class A, class B>
constexpr auto comparison(const May &may, const Must &must, const A &a, const B &b) {
    if constexpr (Unknown<A> || Unknown<B>) {
        return unknown{};
    } else {
        const auto x = bounds_of(a);
        const auto y = bounds_of(b);
        const auto valid = both(is_comparable(a), is_comparable(b));
        return truth{either(negation(valid), may(x, y)), both(valid, must(x, y))};
    }
}

template <class A, class B>
constexpr auto less(const A &a, const B &b) {
    constexpr arithmetic::tag t{};
    return comparison([t](const auto &x, const auto &y) { return is_less(t, x.lowest, y.highest); },
                      [t](const auto &x, const auto &y) { return is_less(t, x.highest, y.lowest); }, a, b);
}

template <class A, class B>
constexpr auto less_equal(const A &a, const B &b) {
    constexpr arithmetic::tag t{};
    return comparison([t](const auto &x, const auto &y) { return is_less_equal(t, x.lowest, y.highest); },
                      [t](const auto &x, const auto &y) { return is_less_equal(t, x.highest, y.lowest); }, a, b);
}

template <class A, class B>
constexpr auto equal(const A &a, const B &b) {
    constexpr arithmetic::tag t{};
    return comparison(
        [t](const auto &x, const auto &y) {
            return is_less_equal(t, x.lowest, y.highest) && is_less_equal(t, y.lowest, x.highest);
        },
        [t](const auto &x, const auto &y) {
            return is_less_equal(t, x.highest, y.lowest) && is_less_equal(t, y.highest, x.lowest);
        },
        a, b);
}

/// `condition ? a : b` of two conditions.
template <class Condition, class A, class B>
constexpr auto select_condition(const Condition &condition, const A &a, const B &b) {
    const auto decided = as_truth(condition);
    const auto x = as_truth(a);
    const auto y = as_truth(b);
    const auto must = either(both(decided.must, x.must), both(negation(decided.may), y.must));
    return truth{either(both(decided.may, x.may), both(negation(decided.must), y.may)),
                 either(must, both(x.must, y.must))};
}

template <class Condition, class T>
constexpr auto pick(const Condition &condition, const T &a, const T &b) {
    if constexpr (std::same_as<Condition, std::true_type>) {
        return a;
    } else if constexpr (std::same_as<Condition, std::false_type>) {
        return b;
    } else {
        return choose(arithmetic::tag{}, condition, a, b);
    }
}

/// `condition ? a : b` of two numbers, both whole or both real.
template <bool Real, class Condition, class A, class B>
constexpr auto select_number(const Condition &condition, const A &a, const B &b) {
    if constexpr (Unknown<A> || Unknown<B>) {
        return unknown{};
    } else {
        const auto decided = as_truth(condition);
        const auto x = bounds_of(a);
        const auto y = bounds_of(b);
        const auto mixed = around(x, y);
        const auto lowest = pick(decided.must, x.lowest, pick(decided.may, mixed.lowest, y.lowest));
        const auto highest = pick(decided.must, x.highest, pick(decided.may, mixed.highest, y.highest));
        if constexpr (Real) {
            return real_interval{
                lowest, highest,
                both(either(negation(decided.may), is_bounded(a)), either(decided.must, is_bounded(b)))};
        } else {
            return interval{lowest, highest};
        }
    }
}

}  // namespace intervals
}  // namespace heed
