// SPDX-License-Identifier: MIT
//
// The one walk over expressions. `evaluate(expression, environment)` asks the environment for the value of each leaf
// and for the result of each operator; what a value is, a number, a Halide expression, a range, a text, is the
// environment's business. Such an environment is called a reading. It has
//
//     auto operator()(q_pos_) const            one overload per terminal that may occur
//     auto constant(v) const                   of a literal; v is std::int64_t, double or bool
//     auto lookup(input, indices...) const     of an input at evaluated indices; `input` is an input_<name, type>
//     auto apply(operation, values...) const   of an operator of operators.hpp
//
// A reading whose values combine by C++ operators and the functions of arithmetic.hpp derives from `value_reading`,
// which has `apply`; see attends.hpp for one over numbers, range.hpp and print.hpp for others.
//
// To add an operator: write its struct in operators.hpp (copy one: `abs_`) and the function that builds its node in
// expression.hpp. It is then usable in every reading that it has a rule for; where it lacks one the compiler says so by
// operator_has_a_rule_for_the_reading. Only the range may be left out: nothing is then known of the result. A function
// that C++ values do not have yet goes into arithmetic.hpp.
//
// To add a reading: write a header with an environment whose `apply` calls the member function of that reading, as
// value_reading does, then add this function to the operators.
#pragma once

#include <heed/expression.hpp>

#include <boost/hana/unpack.hpp>

#include <cstdint>
#include <type_traits>

namespace heed {

namespace detail {

template <class Input, class Environment, class... Indices>
constexpr auto look_up(const Environment &environment, const Indices &...indices) {
    if constexpr (requires { environment.lookup(Input{}, indices...); }) {
        return environment.lookup(Input{}, indices...);
    } else {
        static_assert(rule::environment_looks_up_inputs<Environment, Input, false>::holds);
    }
}

}  // namespace detail

/// The value of an expression in an environment. Every part is evaluated, also the operands of `select`, `&&` and `||`.
template <Expression E, class Environment>
constexpr auto evaluate(const E &expression, const Environment &environment) {
    if constexpr (detail::is_int<E>) {
        return environment.constant(std::int64_t{E::value});
    } else if constexpr (detail::is_literal<E>) {
        return environment.constant(expression.value);
    } else if constexpr (detail::is_lookup<E>) {
        return hana::unpack(expression.indices, [&](const auto &...indices) {
            return detail::look_up<typename E::input>(environment, evaluate(indices, environment)...);
        });
    } else if constexpr (detail::is_node<E>) {
        return hana::unpack(expression.operands, [&](const auto &...operands) {
            return environment.apply(typename E::operation{}, evaluate(operands, environment)...);
        });
    } else if constexpr (requires { environment(expression); }) {
        return environment(expression);
    } else {
        static_assert(rule::environment_gives_a_value<Environment, E, false>::holds);
    }
}

/// Names of readings, for diagnostics.
namespace reading {
struct value;
struct text;
}  // namespace reading

/// Base of readings whose values combine by C++ operators and the functions of arithmetic.hpp.
struct value_reading {
    template <class Operator, class... Values>
    static constexpr auto apply(Operator, const Values &...values) {
        if constexpr (requires { Operator::value(values...); }) {
            return Operator::value(values...);
        } else {
            static_assert(rule::operator_has_a_rule_for_the_reading<Operator, reading::value, false>::holds);
        }
    }
};

}  // namespace heed
