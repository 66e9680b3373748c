// SPDX-License-Identifier: MIT
//
// The text reading: an expression as it would be written in a declaration, with as few parentheses as C++ needs
// to read it back without a warning.
#pragma once

#include <heed/evaluate.hpp>
#include <heed/variant.hpp>

#include <charconv>
#include <cstdint>
#include <string>

namespace heed {

namespace detail {

// Appended piece by piece: g++ 12 warns of `"literal" + string`, wrongly.
inline std::string enclosed(char open, const std::string &text, char close) {
    return std::string(1, open).append(text).append(1, close);
}

}  // namespace detail

/// A part of a formula, and how tightly its outermost operator binds.
struct formula_text {
    std::string text;
    int precedence = op::primary;

    /// The text, in parentheses if it binds less tightly than `least`.
    std::string at_least(int least) const { return precedence < least ? detail::enclosed('(', text, ')') : text; }
};

namespace detail {

template <class First, class... Rest>
std::string comma_separated(const First &first, const Rest &...rest) {
    std::string text = first.text;
    (text.append(", ").append(rest.text), ...);
    return text;
}

inline std::string comma_separated() { return {}; }

inline std::string number_text(double value) {
    char characters[32];
    const auto end = std::to_chars(characters, characters + sizeof characters, value).ptr;
    std::string text(characters, end);
    const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return looks_whole ? text + ".0" : text;
}

}  // namespace detail

/// Terminals and inputs by name. Whole numbers are written without '_c'.
struct text_environment {
    template <Terminal T>
    formula_text operator()(const T &) const {
        return {T::name};
    }

    static formula_text constant(bool value) { return {value ? "true" : "false"}; }
    static formula_text constant(std::int64_t value) {
        return {std::to_string(value), value < 0 ? op::prefix : op::primary};
    }
    static formula_text constant(double value) {
        return {detail::number_text(value), value < 0 ? op::prefix : op::primary};
    }

    template <class Input, class... Indices>
    static formula_text lookup(Input, const Indices &...indices) {
        constexpr bool is_vector = sizeof...(Indices) == 1;
        const std::string inner = detail::comma_separated(indices...);
        std::string text = "input<\"";
        text.append(Input::name()).append(Input::kind == value_kind::integer ? "\", i32>" : "\">");
        return {text.append(is_vector ? detail::enclosed('[', inner, ']') : detail::enclosed('(', inner, ')'))};
    }

    template <class Operator, class... Texts>
    static formula_text apply(Operator, const Texts &...texts) {
        if constexpr (requires { Operator::symbol; }) {
            return with_symbol(Operator::symbol, Operator::precedence, texts...);
        } else if constexpr (requires { Operator::name; }) {
            return {std::string(Operator::name).append(detail::enclosed('(', detail::comma_separated(texts...), ')'))};
        } else if constexpr (requires { Operator::is_silent; }) {
            return (texts, ...);
        } else {
            rule::operator_has_a_rule_for_the_reading<Operator, reading::text, false>::check();
            return formula_text{};
        }
    }

  private:
    static formula_text with_symbol(const char *symbol, int precedence, const formula_text &operand) {
        // Two minus signs in a row would be one decrement.
        const bool clash = operand.text.front() == symbol[0];
        return {std::string(symbol).append(operand.at_least(clash ? op::primary + 1 : precedence)), precedence};
    }

    static formula_text with_symbol(const char *symbol, int precedence, const formula_text &left,
                                    const formula_text &right) {
        // C++ compilers warn of '&&' beside '||' without parentheses, and readers stumble.
        const bool mixes_logic = precedence == op::disjunction;
        const auto part = [&](const formula_text &operand, int least) {
            return operand.at_least(mixes_logic && operand.precedence == op::conjunction ? op::primary : least);
        };
        std::string text = part(left, precedence);
        text.append(1, ' ').append(symbol).append(1, ' ').append(part(right, precedence + 1));
        return {text, precedence};
    }
};

/// An expression as it would be written: "q_pos >= kv_pos && q_pos - kv_pos < 128".
template <Expression E>
std::string formula(const E &expression) {
    return evaluate(expression, text_environment{}).text;
}

/// A variant, one line for its sizes and one for each expression that is not the default.
template <class... Settings>
std::string formula(const attention_variant<Settings...> &variant) {
    using type = attention_variant<Settings...>;
    std::string text;
    const auto add = [&](const char *name, const std::string &value) { text.append(name).append(value); };
    add("heads = ", std::to_string(type::heads));
    add(", groups = ", std::to_string(type::groups));
    add(", head_dim = ", std::to_string(type::head_dim));
    if (type::value_dim != type::head_dim) {
        add(", value_dim = ", std::to_string(type::value_dim));
    }
    add(", scale = ", detail::number_text(variant.scale()));
    add("\nmask = ", formula(variant.mask()));
    if constexpr (detail::is_given<score_mod_, Settings...>) {
        add("\nscore_mod = ", formula(variant.score_mod()));
    }
    if constexpr (type::has_sink) {
        add("\nsink_logit = ", formula(variant.sink_logit()));
    }
    if constexpr (detail::is_given<query_start_, Settings...> || detail::is_given<align_, Settings...>) {
        add("\nquery_start = ", formula(variant.query_start()));
    }
    return text;
}

}  // namespace heed
