// SPDX-License-Identifier: MIT
//
// Expressions: what masks and scores are made of. An expression is a value whose type is its tree, so `q_pos >= kv_pos`
// computes nothing; it is what `evaluate` later walks over, once per reading. Expressions are literal types: they can
// be constexpr globals and template arguments by reference.
#pragma once

#include <heed/detail/fixed_string.hpp>
#include <heed/detail/kind.hpp>
#include <heed/operators.hpp>
#include <heed/rules.hpp>

#include <boost/hana/basic_tuple.hpp>
#include <boost/hana/unpack.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

namespace heed {

namespace hana = boost::hana;

// Terminals

namespace detail {

template <value_kind Kind>
struct terminal : expression_base {
    static constexpr value_kind kind = Kind;
};

}  // namespace detail

// clang-format off
struct score_ : detail::terminal<value_kind::real> { static constexpr auto name = "score"; };
struct q_pos_ : detail::terminal<value_kind::integer> { static constexpr auto name = "q_pos"; };
struct kv_pos_ : detail::terminal<value_kind::integer> { static constexpr auto name = "kv_pos"; };
struct head_ : detail::terminal<value_kind::integer> { static constexpr auto name = "head"; };
struct batch_ : detail::terminal<value_kind::integer> { static constexpr auto name = "batch"; };
struct q_len_ : detail::terminal<value_kind::integer> { static constexpr auto name = "q_len"; };
struct kv_len_ : detail::terminal<value_kind::integer> { static constexpr auto name = "kv_len"; };
struct q_row_ : detail::terminal<value_kind::integer> { static constexpr auto name = "q_row"; };
struct group_ : detail::terminal<value_kind::integer> { static constexpr auto name = "group"; };
struct dim_ : detail::terminal<value_kind::integer> { static constexpr auto name = "dim"; };
// clang-format on

/// scale * <query, key> of this pair.
inline constexpr score_ score{};
/// Absolute position of the query: query_start + row.
inline constexpr q_pos_ q_pos{};
/// Absolute position of the key, from 0.
inline constexpr kv_pos_ kv_pos{};
/// Number of the query head, from 0.
inline constexpr head_ head{};
/// Number of the batch element, from 0.
inline constexpr batch_ batch{};
/// Number of queries in the call.
inline constexpr q_len_ q_len{};
/// Number of keys in the call.
inline constexpr kv_len_ kv_len{};
/// Number of the query in the call, from 0: q_pos - query_start.
inline constexpr q_row_ q_row{};
/// Number of the key/value head, from 0. Only in `key_mod` and `value_mod`.
inline constexpr group_ group{};
/// Number of the element within its row of head_dim or value_dim elements, from 0. Only in modifications of rows.
inline constexpr dim_ dim{};

/// A terminal: its value comes from the environment. Its name is how it is written.
template <class T>
concept Terminal = Expression<T> && requires {
    std::remove_cvref_t<T>::name;
};

// Literals

/// A whole number known while compiling, written `32_c` or `int_<32>{}`.
template <std::int64_t Value>
struct int_ : expression_base {
    static constexpr value_kind kind = value_kind::integer;
    static constexpr std::int64_t value = Value;
};

/// A number or truth value that a C++ value was turned into: std::int64_t, double or bool.
template <class T>
struct literal : expression_base {
    static constexpr value_kind kind = std::same_as<T, bool>     ? value_kind::boolean
                                       : std::same_as<T, double> ? value_kind::real
                                                                 : value_kind::integer;
    T value;
};

namespace detail {

template <class T>
inline constexpr bool is_int = false;
template <std::int64_t Value>
inline constexpr bool is_int<int_<Value>> = true;
template <class T>
inline constexpr bool is_literal = is_int<T>;
template <class T>
inline constexpr bool is_literal<literal<T>> = true;

// Digits as they stand in the source, with or without 0x and separators. Negative if there is anything else; the
// largest number if they give a larger one.
constexpr std::int64_t parse_integer(std::string_view text) {
    const bool is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if (!is_hexadecimal && text.size() > 1 && text.front() == '0') {
        return -1;  // octal and binary
    }
    std::int64_t value = 0;
    for (const char c : text.substr(is_hexadecimal ? 2 : 0)) {
        const bool is_letter = is_hexadecimal && (c | 0x20) >= 'a' && (c | 0x20) <= 'f';
        if (c == '\'') {
            continue;
        }
        if (!is_letter && (c < '0' || c > '9')) {
            return -1;
        }
        const int base = is_hexadecimal ? 16 : 10;
        const int digit = is_letter ? (c | 0x20) - 'a' + 10 : c - '0';
        constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
        value = value > (largest - digit) / base ? largest : value * base + digit;
    }
    return value;
}

template <char... Characters>
inline constexpr char characters[] = {Characters...};

}  // namespace detail

inline namespace literals {

/// `32_c` is `int_<32>{}`.
template <char... Characters>
constexpr auto operator""_c() {
    constexpr std::int64_t value = detail::parse_integer({detail::characters<Characters...>, sizeof...(Characters)});
    rule::constant_is_a_whole_number<value >= 0, Characters...>::check();
    return int_<value>{};
}

}  // namespace literals

// Operators on expressions

/// An operator with its operands. `operation` is a struct of operators.hpp.
template <class Operator, class... Operands>
struct node : expression_base {
    using operation = Operator;
    static constexpr value_kind kind = Operator::kind(Operands::kind...);
    hana::basic_tuple<Operands...> operands;
};

/// An element of an input. Input is an `input_`, the indices are outermost first.
template <class Input, class... Indices>
struct lookup : expression_base {
    using input = Input;
    static constexpr int rank = sizeof...(Indices);
    static constexpr value_kind kind = Input::kind;
    hana::basic_tuple<Indices...> indices;
};

namespace detail {

template <class T>
inline constexpr bool is_node = false;
template <class Operator, class... Operands>
inline constexpr bool is_node<node<Operator, Operands...>> = true;
template <class T>
inline constexpr bool is_lookup = false;
template <class Input, class... Indices>
inline constexpr bool is_lookup<lookup<Input, Indices...>> = true;

struct input_base {};
template <class T>
concept InputWithoutIndices = std::derived_from<std::remove_cvref_t<T>, input_base>;

}  // namespace detail

/// What operators and functions accept: expressions and C++ numbers.
template <class T>
concept Operand = Expression<T> || std::is_arithmetic_v<T> || detail::InputWithoutIndices<T>;

/// An operand that is not a C++ number.
template <class T>
concept Ours = Operand<T> && !std::is_arithmetic_v<T>;

/// Operands of which one at least is ours, so that C++'s own operators stay untouched.
template <class T, class... Others>
concept OperandWith = (Operand<T> && ... && Operand<Others>)&&(Ours<T> || ... || Ours<Others>);

/// An operand as an expression: C++ numbers become literals.
template <Operand T>
constexpr auto as_expression(const T &operand) {
    if constexpr (Expression<T>) {
        return operand;
    } else if constexpr (std::same_as<T, bool>) {
        return literal<bool>{{}, operand};
    } else if constexpr (std::is_integral_v<T>) {
        return literal<std::int64_t>{{}, static_cast<std::int64_t>(operand)};
    } else if constexpr (std::is_floating_point_v<T>) {
        return literal<double>{{}, static_cast<double>(operand)};
    } else {
        rule::input_is_indexed<T>::check();
        return literal<double>{{}, 0.0};
    }
}

namespace detail {

template <class T>
using expression_of = decltype(as_expression(std::declval<const T &>()));

template <class Operator, class... E>
constexpr auto make_node(const E &...operands) {
    return node<Operator, E...>{{}, hana::basic_tuple<E...>(operands...)};
}

template <class E>
constexpr auto to_real(const E &operand) {
    if constexpr (E::kind == value_kind::real) {
        return operand;
    } else if constexpr (is_literal<E>) {
        return literal<double>{{}, static_cast<double>(operand.value)};
    } else {
        return make_node<op::as_real>(operand);
    }
}

template <class... E>
inline constexpr bool any_real = (... || (E::kind == value_kind::real));

template <class Operator, class... E>
constexpr auto in_common_kind(const E &...operands) {
    if constexpr (any_real<E...>) {
        return make_node<Operator>(to_real(operands)...);
    } else {
        return make_node<Operator>(operands...);
    }
}

// Each of these checks the operands of some operators and builds the node.

template <class Operator, Operand... T>
constexpr auto arithmetic(const T &...operands) {
    rule::arithmetic_needs_numbers<Operator, expression_of<T>...>::check();
    return in_common_kind<Operator>(as_expression(operands)...);
}

template <class Operator, Operand T>
constexpr auto real_function(const T &operand) {
    rule::arithmetic_needs_numbers<Operator, expression_of<T>>::check();
    return make_node<Operator>(to_real(as_expression(operand)));
}

template <class Operator, Operand... T>
constexpr auto compare(const T &...operands) {
    rule::comparison_needs_numbers<Operator, expression_of<T>...>::check();
    return in_common_kind<Operator>(as_expression(operands)...);
}

template <class Operator, Operand... T>
constexpr auto logic(const T &...operands) {
    rule::logic_needs_conditions<Operator, expression_of<T>...>::check();
    return make_node<Operator>(as_expression(operands)...);
}

template <Operand A, Operand B>
constexpr auto quotient(const A &a, const B &b) {
    if constexpr (any_real<expression_of<A>, expression_of<B>>) {
        return arithmetic<op::divide>(a, b);
    } else {
        return arithmetic<op::divide_down>(a, b);
    }
}

template <Operand A, Operand B>
constexpr auto remainder(const A &a, const B &b) {
    rule::remainder_needs_integers<op::modulo, expression_of<A>, expression_of<B>>::check();
    return make_node<op::modulo>(as_expression(a), as_expression(b));
}

template <Operand Condition, Operand A, Operand B>
constexpr auto choose(const Condition &condition, const A &a, const B &b) {
    rule::select_chooses_by_a_condition<expression_of<Condition>, expression_of<A>, expression_of<B>>::check();
    if constexpr (any_real<expression_of<A>, expression_of<B>>) {
        return make_node<op::select_<value_kind::real>>(as_expression(condition), to_real(as_expression(a)),
                                                        to_real(as_expression(b)));
    } else {
        return make_node<op::select_<expression_of<A>::kind>>(as_expression(condition), as_expression(a),
                                                              as_expression(b));
    }
}

}  // namespace detail

// clang-format off
template <class A, OperandWith<A> B> constexpr auto operator+(A a, B b) { return detail::arithmetic<op::plus>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator-(A a, B b) { return detail::arithmetic<op::minus>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator*(A a, B b) { return detail::arithmetic<op::times>(a, b); }
template <Ours A> constexpr auto operator-(A a) { return detail::arithmetic<op::negate>(a); }

/// Whole numbers: rounds down, also for negative numbers; 0 if the divisor is 0. Real numbers: IEEE division; where
/// a constant divides what depends on queries, keys or real inputs, rounded twice.
template <class A, OperandWith<A> B> constexpr auto operator/(A a, B b) { return detail::quotient(a, b); }
/// Whole numbers only; has the sign of the divisor, 0 if that is 0.
template <class A, OperandWith<A> B> constexpr auto operator%(A a, B b) { return detail::remainder(a, b); }

template <class A, OperandWith<A> B> constexpr auto operator<(A a, B b) { return detail::compare<op::less>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator<=(A a, B b) { return detail::compare<op::less_equal>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator>(A a, B b) { return detail::compare<op::greater>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator>=(A a, B b) { return detail::compare<op::greater_equal>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator==(A a, B b) { return detail::compare<op::equal>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator!=(A a, B b) { return detail::compare<op::not_equal>(a, b); }

template <class A, OperandWith<A> B> constexpr auto operator&&(A a, B b) { return detail::logic<op::logical_and>(a, b); }
template <class A, OperandWith<A> B> constexpr auto operator||(A a, B b) { return detail::logic<op::logical_or>(a, b); }
template <Ours A> constexpr auto operator!(A a) { return detail::logic<op::logical_not>(a); }

template <class A, OperandWith<A> B> constexpr auto min(A a, B b) { return detail::arithmetic<op::min_>(a, b); }
template <class A, OperandWith<A> B> constexpr auto max(A a, B b) { return detail::arithmetic<op::max_>(a, b); }
template <Ours A> constexpr auto abs(A a) { return detail::arithmetic<op::abs_>(a); }
template <Ours A> constexpr auto exp(A a) { return detail::real_function<op::exp_>(a); }
/// Natural logarithm.
template <Ours A> constexpr auto log(A a) { return detail::real_function<op::log_>(a); }
template <Ours A> constexpr auto sqrt(A a) { return detail::real_function<op::sqrt_>(a); }
template <Ours A> constexpr auto tanh(A a) { return detail::real_function<op::tanh_>(a); }
/// Of an angle in radians.
template <Ours A> constexpr auto cos(A a) { return detail::real_function<op::cos_>(a); }
template <Ours A> constexpr auto sin(A a) { return detail::real_function<op::sin_>(a); }
/// The largest whole number not above `a`; stays a real number.
template <Ours A> constexpr auto floor(A a) { return detail::real_function<op::floor_>(a); }
/// `condition ? a : b`, for numbers or conditions. Both are evaluated, so inputs must be readable for either.
template <class C, class A, OperandWith<C, A> B> constexpr auto select(C condition, A a, B b) { return detail::choose(condition, a, b); }
// clang-format on

// Rows: what `query_mod`, `key_mod`, `value_mod` and `output_mod` work on

/// Element `Index` of the row that is being loaded or stored. Row is query_, key_, value_ or output_.
template <class Row, class Index>
struct row_element : expression_base {
    using row = Row;
    static constexpr value_kind kind = value_kind::real;
    Index index;
};

namespace detail {

/// A row of a tensor. By itself it stands for the element at `dim`.
template <class Row>
struct row_terminal : terminal<value_kind::real> {
    template <Operand Index>
    constexpr auto operator[](Index index) const {
        rule::row_index_is_an_integer<Row, expression_of<Index>>::check();
        return row_element<Row, expression_of<Index>>{{}, as_expression(index)};
    }
};

template <class T>
inline constexpr bool is_row_element = false;
template <class Row, class Index>
inline constexpr bool is_row_element<row_element<Row, Index>> = true;
template <class T>
concept RowTerminal = std::derived_from<std::remove_cvref_t<T>, row_terminal<std::remove_cvref_t<T>>>;

}  // namespace detail

// clang-format off
struct query_ : detail::row_terminal<query_> { static constexpr auto name = "query"; };
struct key_ : detail::row_terminal<key_> { static constexpr auto name = "key"; };
struct value_ : detail::row_terminal<value_> { static constexpr auto name = "value"; };
struct output_ : detail::row_terminal<output_> { static constexpr auto name = "output"; };
// clang-format on

/// In `query_mod`: the query's element at `dim`; `query[index]` is another of the same row. Not scaled yet.
inline constexpr query_ query{};
/// In `key_mod`: the key's element at `dim`, or `key[index]`.
inline constexpr key_ key{};
/// In `value_mod`: the value's element at `dim`, or `value[index]`.
inline constexpr value_ value{};
/// In `output_mod`: the result's element at `dim`, or `output[index]`.
inline constexpr output_ output{};

/// The mean of an expression of `dim` over all elements of the row.
template <class E>
struct row_mean : expression_base {
    static constexpr value_kind kind = value_kind::real;
    E of_dim;
};

/// The value of an expression of `dim` and the position, where `dim` is `index`. Kernels compute it once in a call for
/// every key and the `Extent` values of `index`, so that loading a key costs no more than reading it.
template <std::int64_t Extent, class E, class Index>
struct tabulated : expression_base {
    static constexpr value_kind kind = value_kind::real;
    static constexpr std::int64_t extent = Extent;
    E of_dim;
    Index index;
};

namespace detail {

template <class T>
inline constexpr bool is_row_mean = false;
template <class E>
inline constexpr bool is_row_mean<row_mean<E>> = true;
template <class T>
inline constexpr bool is_tabulated = false;
template <std::int64_t Extent, class E, class Index>
inline constexpr bool is_tabulated<tabulated<Extent, E, Index>> = true;

/// Numbers known while compiling, at an index: what positions turn by. In kernels they have double precision.
template <std::size_t Extent, class Index>
struct constant_element : expression_base {
    static constexpr value_kind kind = value_kind::real;
    std::array<double, Extent> values;
    Index index;
};

template <class T>
inline constexpr bool is_constant_element = false;
template <std::size_t Extent, class Index>
inline constexpr bool is_constant_element<constant_element<Extent, Index>> = true;

}  // namespace detail

/// The mean over the row: `mean_over_dims(query * query)`.
template <Ours E>
constexpr auto mean_over_dims(E of_dim) {
    rule::arithmetic_needs_numbers<op::mean_over_dims_, detail::expression_of<E>>::check();
    const auto real = detail::to_real(as_expression(of_dim));
    return row_mean<std::remove_cvref_t<decltype(real)>>{{}, real};
}

/// `of_dim` where `dim` is `index`, which takes `Extent` values from 0; see `tabulated`.
template <std::int64_t Extent, Ours E, Operand Index>
constexpr auto tabulate(E of_dim, Index index) {
    const auto real = detail::to_real(as_expression(of_dim));
    return tabulated<Extent, std::remove_cvref_t<decltype(real)>, detail::expression_of<Index>>{
        {}, real, as_expression(index)};
}

// Inputs

/// Types of inputs: 32-bit floating point, 32-bit whole number.
enum class input_type : std::uint8_t { f32, i32 };

struct f32 {
    using type = float;
    static constexpr input_type heed_input_type = input_type::f32;
};

struct i32 {
    using type = std::int32_t;
    static constexpr input_type heed_input_type = input_type::i32;
};

namespace detail {

consteval bool is_identifier(std::string_view name) {
    // clang-format off
    constexpr std::string_view keywords =
        " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
        "compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype "
        "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
        "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
        "register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch "
        "template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile "
        "wchar_t while xor xor_eq ";
    // clang-format on
    bool valid = !name.empty() && !name.starts_with("heed_") && name.front() != '_' &&
                 !(name.front() >= '0' && name.front() <= '9');
    char previous = ' ';
    for (const char c : name) {
        const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        valid = valid && (alphanumeric || (c == '_' && previous != '_'));
        previous = c;
    }
    for (std::size_t at = 0; valid && at + name.size() + 2 <= keywords.size(); ++at) {
        valid = keywords[at] != ' ' || keywords[at + name.size() + 1] != ' ' ||
                keywords.substr(at + 1, name.size()) != name;
    }
    return valid;
}

template <class Input, class... Indices>
constexpr auto make_lookup(const Indices &...indices) {
    if constexpr (!rule::input_type_is_f32_or_i32<typename Input::type>::check()) {
        // Stands for what was meant, so that no further error hides the first.
        return make_lookup<typename Input::with_a_type_of_ours>(indices...);
    } else {
        rule::input_name_is_an_identifier<Input>::check();
        []<int... Dimension>(std::integer_sequence<int, Dimension...>) {
            (rule::index_is_an_integer<Input, Dimension, Indices>::check(), ...);
        }
        (std::make_integer_sequence<int, sizeof...(Indices)>{});
        return lookup<Input, Indices...>{{}, hana::basic_tuple<Indices...>(indices...)};
    }
}

}  // namespace detail

/// A tensor of the user's, read at the indices of a pair. It becomes an argument `name()` of every kernel of the
/// variant; its rank is the number of indices it is used with.
template <fixed_string Name, class Type>
struct input_ : detail::input_base {
    using type = Type;
    using with_a_type_of_ours = input_<Name, std::conditional_t<std::is_integral_v<Type>, i32, f32>>;
    static constexpr value_kind kind = std::same_as<Type, i32> ? value_kind::integer : value_kind::real;
    static constexpr std::string_view name() { return Name.view(); }
    static consteval bool name_is_an_identifier() { return detail::is_identifier(Name.view()); }

    /// The element at these indices, outermost first; without an index a single number.
    template <Operand... Indices>
    constexpr auto operator()(Indices... indices) const {
        return detail::make_lookup<input_>(as_expression(indices)...);
    }

    /// The element of a vector.
    template <Operand Index>
    constexpr auto operator[](Index index) const {
        return detail::make_lookup<input_>(as_expression(index));
    }
};

/// `input<"slopes">[head]`, `input<"bias">(head, q_pos, kv_pos)`, `input<"temperature">()`; whole numbers: `input<"x",
/// i32>`.
template <fixed_string Name, class Type = f32>
inline constexpr input_<Name, Type> input{};

// Looking at expressions

namespace detail {

template <class... T>
struct type_list {
    static constexpr std::size_t size = sizeof...(T);
};

template <class... Lists>
struct concatenate {
    using type = type_list<>;
};
template <class... T>
struct concatenate<type_list<T...>> {
    using type = type_list<T...>;
};
template <class... A, class... B, class... Rest>
struct concatenate<type_list<A...>, type_list<B...>, Rest...> : concatenate<type_list<A..., B...>, Rest...> {};

template <class E>
struct children {
    using type = type_list<>;
};
template <class Operator, class... Operands>
struct children<node<Operator, Operands...>> {
    using type = type_list<Operands...>;
};
template <class Input, class... Indices>
struct children<lookup<Input, Indices...>> {
    using type = type_list<Indices...>;
};
template <class Row, class Index>
struct children<row_element<Row, Index>> {
    using type = type_list<Row, Index>;
};
template <class E>
struct children<row_mean<E>> {
    using type = type_list<E>;
};
template <std::int64_t Extent, class E, class Index>
struct children<tabulated<Extent, E, Index>> {
    using type = type_list<E, Index>;
};
template <std::size_t Extent, class Index>
struct children<constant_element<Extent, Index>> {
    using type = type_list<Index>;
};

template <class E, class T>
struct depends_on {
    static constexpr bool value = []<class... Children>(type_list<Children...>) {
        return (std::same_as<E, T> || ... || depends_on<Children, T>::value);
    }(typename children<E>::type{});
};

/// What a tree of whole numbers known while compiling comes to; `known` is false for anything else.
template <class E>
struct whole_constant {
    static constexpr bool known = false;
};
template <std::int64_t Value>
struct whole_constant<int_<Value>> {
    static constexpr bool known = true;
    static constexpr std::int64_t value = Value;
};
template <class Operator, class... Operands>
requires(node<Operator, Operands...>::kind == value_kind::integer &&
         (... && whole_constant<Operands>::known)) struct whole_constant<node<Operator, Operands...>> {
    static constexpr bool known = true;
    static constexpr std::int64_t value = Operator::value(whole_constant<Operands>::value...);
};

// True if something in an expression goes over the elements of a row.
template <class E>
struct takes_a_row {
    static constexpr bool value = []<class... Children>(type_list<Children...>) {
        return (is_row_mean<E> || ... || takes_a_row<Children>::value);
    }(typename children<E>::type{});
};

template <std::int64_t Extent, class E, class Index>
struct takes_a_row<tabulated<Extent, E, Index>> {
    static constexpr bool value = true;
};

// The lookups of an expression, in the order in which they are written.
template <class E>
struct lookups;
template <class... E>
struct lookups<type_list<E...>> : concatenate<typename lookups<E>::type...> {};
template <class E>
struct lookups : lookups<typename children<E>::type> {};
template <class Input, class... Indices>
struct lookups<lookup<Input, Indices...>>
    : concatenate<type_list<lookup<Input, Indices...>>, typename lookups<Indices>::type...> {};

}  // namespace detail

/// True if terminal `T` occurs in `E`, indices of inputs included.
template <Expression E, Terminal... T>
inline constexpr bool uses = (detail::depends_on<std::remove_cvref_t<E>, T>::value || ...);

namespace detail {

/// Calls `function(child)` for each part of an expression that is itself an expression.
template <Expression E, class Function>
constexpr void for_each_child(const E &expression, const Function &function) {
    const auto each = [&](const auto &...children) { (function(children), ...); };
    if constexpr (is_lookup<E>) {
        hana::unpack(expression.indices, each);
    } else if constexpr (is_node<E>) {
        hana::unpack(expression.operands, each);
    } else if constexpr (is_row_mean<E>) {
        each(expression.of_dim);
    } else if constexpr (is_tabulated<E>) {
        each(expression.of_dim, expression.index);
    } else if constexpr (is_row_element<E> || is_constant_element<E>) {
        each(expression.index);
    }
}

/// Calls `function(lookup, dim_extent)`; `dim` is below dim_extent in the lookup's indices.
template <Expression E, class Function>
constexpr void visit_lookups(const E &expression, const Function &function, std::int64_t dim_extent) {
    if constexpr (is_lookup<E>) function(expression, dim_extent);
    if constexpr (is_tabulated<E>) {
        visit_lookups(expression.of_dim, function, E::extent);
        visit_lookups(expression.index, function, dim_extent);
    } else {
        for_each_child(expression, [&](const auto &child) { visit_lookups(child, function, dim_extent); });
    }
}

}  // namespace detail

/// Calls `function(lookup)` for every use of an input, in the order in which they are written, an input before the
/// inputs within its indices. The index expressions are in `lookup.indices`, its input is the type `input`.
template <Expression E, class Function>
constexpr void for_each_lookup(const E &expression, const Function &function) {
    detail::visit_lookups(
        expression, [&](const auto &lookup, std::int64_t) { function(lookup); }, 0);
}

}  // namespace heed
