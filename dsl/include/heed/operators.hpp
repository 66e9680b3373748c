// SPDX-License-Identifier: MIT
//
// The operators of expressions, one struct each, with a rule for every reading. How to add an operator or a reading is
// told in evaluate.hpp.
//
//   kind      what the operator yields, from what its operands yield
//   value     the result, from values of any type (see arithmetic.hpp)
//   range     what is known of the result, from what is known of the operands (see intervals.hpp); may be left out
//   symbol and precedence, or name, or is_silent      how it is written
#pragma once

#include <heed/arithmetic.hpp>
#include <heed/detail/kind.hpp>
#include <heed/intervals.hpp>

#include <cstdint>

/// Operators. One that is written as a function is called like the function, with '_' appended.
namespace heed::op {

/// How tightly a symbol binds, as in C++.
enum precedence : int { disjunction = 1, conjunction, equality, relation, sum, product, prefix, primary };

// What operands an operator takes, and what it yields.

/// Numbers, both whole or both real (a whole operand is converted); yields the same kind.
struct on_numbers {
    static constexpr value_kind kind(value_kind first, auto...) { return first; }
};

/// Real numbers; yields a real number.
struct on_reals {
    static constexpr value_kind kind(auto...) { return value_kind::real; }
};

/// Whole numbers; yields a whole number.
struct on_integers {
    static constexpr value_kind kind(auto...) { return value_kind::integer; }
};

/// Numbers, both whole or both real; yields a condition.
struct comparison {
    static constexpr value_kind kind(auto...) { return value_kind::boolean; }
};

/// Conditions; yields a condition.
struct logical {
    static constexpr value_kind kind(auto...) { return value_kind::boolean; }
};

struct plus : on_numbers {
    static constexpr auto symbol = "+";
    static constexpr auto precedence = sum;
    static constexpr auto value(const auto &a, const auto &b) { return a + b; }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::add(a, b); }
};

struct minus : on_numbers {
    static constexpr auto symbol = "-";
    static constexpr auto precedence = sum;
    static constexpr auto value(const auto &a, const auto &b) { return a - b; }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::subtract(a, b); }
};

struct negate : on_numbers {
    static constexpr auto symbol = "-";
    static constexpr auto precedence = prefix;
    static constexpr auto value(const auto &a) { return -a; }
    static constexpr auto range(const auto &a) { return intervals::negate(a); }
};

struct times : on_numbers {
    static constexpr auto symbol = "*";
    static constexpr auto precedence = product;
    static constexpr auto value(const auto &a, const auto &b) { return a * b; }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::multiply(a, b); }
};

struct divide : on_reals {
    static constexpr auto symbol = "/";
    static constexpr auto precedence = product;
    static constexpr auto value(const auto &a, const auto &b) { return quotient(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::divide(a, b); }
};

/// Rounds down, also for negative numbers; 0 if the divisor is 0.
struct divide_down : on_integers {
    static constexpr auto symbol = "/";
    static constexpr auto precedence = product;
    static constexpr auto value(const auto &a, const auto &b) { return floor_divide(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::floor_divide(a, b); }
};

/// Has the sign of the divisor; 0 if the divisor is 0.
struct modulo : on_integers {
    static constexpr auto symbol = "%";
    static constexpr auto precedence = product;
    static constexpr auto value(const auto &a, const auto &b) { return floor_modulo(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::floor_modulo(a, b); }
};

struct less : comparison {
    static constexpr auto symbol = "<";
    static constexpr auto precedence = relation;
    static constexpr auto value(const auto &a, const auto &b) { return is_less(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::less(a, b); }
};

struct less_equal : comparison {
    static constexpr auto symbol = "<=";
    static constexpr auto precedence = relation;
    static constexpr auto value(const auto &a, const auto &b) { return is_less_equal(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::less_equal(a, b); }
};

struct greater : comparison {
    static constexpr auto symbol = ">";
    static constexpr auto precedence = relation;
    static constexpr auto value(const auto &a, const auto &b) { return is_less(arithmetic::tag{}, b, a); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::less(b, a); }
};

struct greater_equal : comparison {
    static constexpr auto symbol = ">=";
    static constexpr auto precedence = relation;
    static constexpr auto value(const auto &a, const auto &b) { return is_less_equal(arithmetic::tag{}, b, a); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::less_equal(b, a); }
};

struct equal : comparison {
    static constexpr auto symbol = "==";
    static constexpr auto precedence = equality;
    static constexpr auto value(const auto &a, const auto &b) { return is_equal(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::equal(a, b); }
};

struct not_equal : comparison {
    static constexpr auto symbol = "!=";
    static constexpr auto precedence = equality;
    static constexpr auto value(const auto &a, const auto &b) { return !is_equal(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::logical_not(intervals::equal(a, b)); }
};

struct logical_and : logical {
    static constexpr auto symbol = "&&";
    static constexpr auto precedence = conjunction;
    static constexpr auto value(const auto &a, const auto &b) { return a && b; }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::logical_and(a, b); }
};

struct logical_or : logical {
    static constexpr auto symbol = "||";
    static constexpr auto precedence = disjunction;
    static constexpr auto value(const auto &a, const auto &b) { return a || b; }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::logical_or(a, b); }
};

struct logical_not : logical {
    static constexpr auto symbol = "!";
    static constexpr auto precedence = prefix;
    static constexpr auto value(const auto &a) { return !a; }
    static constexpr auto range(const auto &a) { return intervals::logical_not(a); }
};

struct min_ : on_numbers {
    static constexpr auto name = "min";
    static constexpr auto value(const auto &a, const auto &b) { return minimum(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::minimum(a, b); }
};

struct max_ : on_numbers {
    static constexpr auto name = "max";
    static constexpr auto value(const auto &a, const auto &b) { return maximum(arithmetic::tag{}, a, b); }
    static constexpr auto range(const auto &a, const auto &b) { return intervals::maximum(a, b); }
};

struct abs_ : on_numbers {
    static constexpr auto name = "abs";
    static constexpr auto value(const auto &a) { return absolute(arithmetic::tag{}, a); }
    static constexpr auto range(const auto &a) { return intervals::absolute(a); }
};

/// Takes a condition and two operands of the kind `Kind`, and yields that kind. Both operands are evaluated.
template <value_kind Kind>
struct select_ {
    static constexpr auto name = "select";
    static constexpr value_kind kind(auto...) { return Kind; }
    static constexpr auto value(const auto &condition, const auto &a, const auto &b) {
        return choose(arithmetic::tag{}, condition, a, b);
    }
    static constexpr auto range(const auto &condition, const auto &a, const auto &b) {
        if constexpr (Kind == value_kind::boolean) {
            return intervals::select_condition(condition, a, b);
        } else {
            return intervals::select_number<Kind == value_kind::real>(condition, a, b);
        }
    }
};

struct exp_ : on_reals {
    static constexpr auto name = "exp";
    static constexpr auto value(const auto &a) { return exp(arithmetic::tag{}, a); }
};

struct log_ : on_reals {
    static constexpr auto name = "log";
    static constexpr auto value(const auto &a) { return log(arithmetic::tag{}, a); }
};

struct sqrt_ : on_reals {
    static constexpr auto name = "sqrt";
    static constexpr auto value(const auto &a) { return sqrt(arithmetic::tag{}, a); }
};

struct tanh_ : on_reals {
    static constexpr auto name = "tanh";
    static constexpr auto value(const auto &a) { return tanh(arithmetic::tag{}, a); }
};

struct cos_ : on_reals {
    static constexpr auto name = "cos";
    static constexpr auto value(const auto &a) { return cos(arithmetic::tag{}, a); }
};

struct sin_ : on_reals {
    static constexpr auto name = "sin";
    static constexpr auto value(const auto &a) { return sin(arithmetic::tag{}, a); }
};

/// Cosine of `position` times `turns` full turns. The product keeps only its fraction, in double precision: an angle in
/// single precision would be wrong by 0.01 after 100,000 tokens.
struct cos_of_turns_ {
    static constexpr auto name = "cos_of_turns";
    static constexpr value_kind kind(auto...) { return value_kind::real; }
    static constexpr auto value(const auto &position, const auto &turns) {
        return cos_of_turns(arithmetic::tag{}, position, turns);
    }
};

struct sin_of_turns_ {
    static constexpr auto name = "sin_of_turns";
    static constexpr value_kind kind(auto...) { return value_kind::real; }
    static constexpr auto value(const auto &position, const auto &turns) {
        return sin_of_turns(arithmetic::tag{}, position, turns);
    }
};

/// A number in [0, 1) for each pair, all alike whatever the tiles and threads: the counter-based generator Philox 4x32
/// with ten rounds (Salmon et al. 2011, section 3.3). Takes seed, batch, head, q_row and kv_pos.
struct uniform_random_ {
    static constexpr auto name = "uniform_random";
    static constexpr value_kind kind(auto...) { return value_kind::real; }
    static constexpr auto value(const auto &seed, const auto &batch, const auto &head, const auto &row,
                                const auto &key) {
        return uniform_random(arithmetic::tag{}, seed, batch, head, row, key);
    }
};

/// Names the function in diagnostics; its node is a struct of its own.
struct mean_over_dims_ {};

struct floor_ : on_reals {
    static constexpr auto name = "floor";
    static constexpr auto value(const auto &a) { return floor(arithmetic::tag{}, a); }
    static constexpr auto range(const auto &a) { return intervals::round_down(a); }
};

/// Its operand, in a formula that is right for `Heads` query heads only. `variant` checks the number.
template <std::int64_t Heads>
struct for_heads_ {
    static constexpr bool is_silent = true;
    static constexpr std::int64_t heads = Heads;
    static constexpr value_kind kind(value_kind operand) { return operand; }
    static constexpr auto value(const auto &a) { return a; }
    static constexpr auto range(const auto &a) { return a; }
};

/// A whole number where a real one is wanted. The language inserts it, so that every reading converts at the same
/// place.
struct as_real {
    static constexpr bool is_silent = true;
    static constexpr value_kind kind(auto...) { return value_kind::real; }
    static constexpr auto value(const auto &a) { return to_real(arithmetic::tag{}, a); }
    static constexpr auto range(const auto &a) { return intervals::to_real(a); }
};

}  // namespace heed::op
