// SPDX-License-Identifier: MIT
//
// The text reading: an expression as it would be written in a declaration, with as few parentheses as C++ needs
// to read it back without a warning.
#pragma once

#include <heed/evaluate.hpp>
#include <heed/variant.hpp>

#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

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
    // Whole numbers by all their digits: 500000.0 reads better than 5e+05.
    const bool is_whole = value > -1e9 && value < 1e9 && value == static_cast<double>(static_cast<std::int64_t>(value));
    const auto end =
        is_whole ? std::to_chars(characters, characters + sizeof characters, value, std::chars_format::fixed).ptr
                 : std::to_chars(characters, characters + sizeof characters, value).ptr;
    std::string text(characters, end);
    const bool looks_whole = text.find_first_not_of("-0123456789") == std::string::npos;
    return looks_whole ? text + ".0" : text;
}

}  // namespace detail

/// Terminals and inputs by name. Whole numbers are written without '_c'.
struct text_environment {
    std::string dim_text = "dim";  ///< what stands for `dim`
    int dim_precedence = op::primary;

    template <Terminal T>
    formula_text operator()(const T &) const {
        return {T::name};
    }
    formula_text operator()(const dim_ &) const { return {dim_text, dim_precedence}; }

    template <class Row>
    static formula_text element(Row, const formula_text &index) {
        if (index.text == "dim") return {Row::name};
        return {std::string(Row::name).append(detail::enclosed('[', index.text, ']'))};
    }

    template <Expression E>
    formula_text mean_over_dims(const E &of_dim) const {
        return {std::string("mean_over_dims").append(detail::enclosed('(', evaluate(of_dim, *this).text, ')'))};
    }

    template <std::int64_t, Expression E>
    formula_text tabulated(const E &of_dim, const formula_text &index) const {
        return evaluate(of_dim, text_environment{index.text, index.precedence});
    }

    template <class Values>
    static formula_text constant_element(const Values &, const formula_text &index) {
        return {std::string("constants").append(detail::enclosed('[', index.text, ']'))};
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

namespace detail {

inline std::string text_of(softmax_) { return "softmax"; }
inline std::string text_of(softmax1_) { return "softmax1"; }

inline std::string text_of(rope_layout layout) {
    return layout == rope_layout::interleaved ? "interleaved" : "half_split";
}

inline std::string text_of(const rope_scaling &scaling) {
    using method = rope_scaling::method;
    std::string text;
    const auto call = [&](const char *name, std::initializer_list<double> numbers) {
        text.append(name).append("_scaling(");
        for (const double number : numbers) {
            text.append(number_text(number)).append(", ");
        }
        text.resize(text.size() - 2);
        text.append(")");
    };
    if (scaling.how == method::linear) call("linear", {scaling.factor});
    if (scaling.how == method::ntk) call("ntk", {scaling.factor});
    if (scaling.how == method::yarn) {
        call("yarn", {scaling.factor, scaling.original_length, scaling.fast, scaling.slow});
    }
    if (scaling.how == method::llama3) {
        call("llama3", {scaling.factor, scaling.slow, scaling.fast, scaling.original_length});
    }
    return text;
}

inline std::string text_of(const rope &position) {
    std::string text = "rope{";
    text.append(number_text(position.theta)).append(", .layout = ").append(text_of(position.layout));
    if (position.dims != 0) text.append(", .dims = ").append(std::to_string(position.dims));
    if (position.scaling.how != rope_scaling::method::none) {
        text.append(", .scaling = ").append(text_of(position.scaling));
    }
    return text.append("}");
}

template <class Input>
std::string text_of(const rope_angles_<Input> &position) {
    std::string text = "rope_angles(input<\"";
    return text.append(Input::name()).append("\">, ").append(text_of(position.layout)).append(")");
}

}  // namespace detail

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
    const auto add_if_given = [&]<class Key>(Key, const char *name) {
        if constexpr (type::template has<Key>) {
            const auto value = variant.template given<Key>();
            if constexpr (Operand<std::remove_cvref_t<decltype(value)>>) {
                add(name, formula(as_expression(value)));
            } else {
                add(name, detail::text_of(value));
            }
        }
    };
    add_if_given(score_mod, "\nscore_mod = ");
    add_if_given(sink_logit, "\nsink_logit = ");
    if constexpr (type::template has<query_start_> || type::template has<align_>) {
        add("\nquery_start = ", formula(variant.query_start()));
    }
    add_if_given(position, "\nposition = ");
    add_if_given(query_mod, "\nquery_mod = ");
    add_if_given(key_mod, "\nkey_mod = ");
    add_if_given(value_mod, "\nvalue_mod = ");
    add_if_given(output_mod, "\noutput_mod = ");
    add_if_given(weights, "\nweights = ");
    add_if_given(weight_factor, "\nweight_factor = ");
    return text;
}

}  // namespace heed
