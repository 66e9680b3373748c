// SPDX-License-Identifier: MIT
//
// The one walk over expressions. `evaluate(expression, environment)` asks the environment for the value of each leaf
// and for the result of each operator. What a value is - a number, a Halide expression, a range, a text - is the
// environment's business; such an environment is called a reading. It has
//
//     auto operator()(q_pos_) const             one overload for each terminal that may occur
//     auto constant(v) const                    a literal; v is std::int64_t, double or bool
//     auto lookup(input, indices...) const      an input at evaluated indices; `input` is an input_<name, type>
//     auto look_up(lookup) const                instead of that, for readings that look at the index expressions
//     auto apply(operation, values...) const    an operator of operators.hpp
//     auto element(row, index) const            an element of a row; row is query_, key_, value_ or output_
//     auto mean_over_dims(of_dim) const         the mean of an expression of `dim` over the row
//     auto tabulated<N>(of_dim, index) const    an expression of `dim` where dim is `index`
//     auto constant_element(values, index) const    an element of a std::array<double, N>
//
// The last four are for readings of rows (rows.hpp) only.
//
// A reading whose values combine by C++ operators and the functions of arithmetic.hpp derives from `value_reading`,
// which has `apply`: attends.hpp has one over numbers. One that proves what holds for a whole tile derives from
// `range_reading` (range.hpp). print.hpp has one over strings.
//
// To add an operator, write its struct in operators.hpp (copy one: `abs_`) and the function that builds its node in
// expression.hpp; what C++ values cannot do yet goes into arithmetic.hpp. The operator is then usable in every reading
// that it has a rule for. Where it lacks one the compiler names both (operator_has_a_rule_for_the_reading), except for
// ranges: without a rule nothing is known of the result, which is always sound.
//
// To add a reading, write a header with an environment whose `apply` calls that reading's member function of the
// operator, as value_reading does, and add the function to the operators.
#pragma once

#include <heed/expression.hpp>

#include <boost/hana/unpack.hpp>

#include <concepts>
#include <cstdint>

namespace heed {

namespace detail {

/// The value of what broke a rule. It converts to anything, so that no further error hides the first.
struct not_evaluated {
    template <class T>
    constexpr operator T() const {
        return T{};
    }
};

template <class... Values>
inline constexpr bool all_evaluated = (... && !std::same_as<Values, not_evaluated>);

template <class Input, class Environment, class... Indices>
constexpr auto look_up(const Environment &environment, const Indices &...indices) {
    if constexpr (!all_evaluated<Indices...>) {
        return not_evaluated{};
    } else if constexpr (requires { environment.lookup(Input{}, indices...); }) {
        return environment.lookup(Input{}, indices...);
    } else {
        rule::environment_looks_up_inputs<Environment, Input, false>::check();
        return not_evaluated{};
    }
}

template <class Row, class Environment, class Index>
constexpr auto row_element_of(const Environment &environment, const Index &index) {
    if constexpr (!all_evaluated<Index>) {
        return not_evaluated{};
    } else if constexpr (requires { environment.element(Row{}, index); }) {
        return environment.element(Row{}, index);
    } else {
        rule::environment_gives_a_value<Environment, Row, false>::check();
        return not_evaluated{};
    }
}

template <class Operator, class Environment, class... Values>
constexpr auto apply(const Environment &environment, const Values &...values) {
    if constexpr (!all_evaluated<Values...>) {
        return not_evaluated{};
    } else {
        return environment.apply(Operator{}, values...);
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
    } else if constexpr (detail::is_lookup<E> && requires { environment.look_up(expression); }) {
        return environment.look_up(expression);
    } else if constexpr (detail::is_lookup<E>) {
        return hana::unpack(expression.indices, [&](const auto &...indices) {
            return detail::look_up<typename E::input>(environment, evaluate(indices, environment)...);
        });
    } else if constexpr (detail::is_node<E>) {
        return hana::unpack(expression.operands, [&](const auto &...operands) {
            return detail::apply<typename E::operation>(environment, evaluate(operands, environment)...);
        });
    } else if constexpr (detail::is_row_element<E>) {
        return detail::row_element_of<typename E::row>(environment, evaluate(expression.index, environment));
    } else if constexpr (detail::RowTerminal<E>) {
        return detail::row_element_of<E>(environment, evaluate(dim, environment));
    } else if constexpr (detail::is_row_mean<E>) {
        return environment.mean_over_dims(expression.of_dim);
    } else if constexpr (detail::is_tabulated<E>) {
        return environment.template tabulated<E::extent>(expression.of_dim, evaluate(expression.index, environment));
    } else if constexpr (detail::is_constant_element<E>) {
        return environment.constant_element(expression.values, evaluate(expression.index, environment));
    } else if constexpr (requires { environment(expression); }) {
        return environment(expression);
    } else {
        rule::environment_gives_a_value<Environment, E, false>::check();
        return detail::not_evaluated{};
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
            rule::operator_has_a_rule_for_the_reading<Operator, reading::value, false>::check();
            return detail::not_evaluated{};
        }
    }
};

}  // namespace heed
