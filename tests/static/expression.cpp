// SPDX-License-Identifier: MIT
//
// Building this file is the test: kinds, conversions and trees of expressions, and what must not compile.
#include <heed/expression.hpp>
#include <heed/masks.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

using namespace heed;

namespace {

template <class Expected, class E>
constexpr bool is_tree(const E &) {
    return std::same_as<E, Expected>;
}

template <value_kind Kind, class E>
constexpr bool yields(const E &) {
    return E::kind == Kind;
}

constexpr auto integer = value_kind::integer;
constexpr auto real = value_kind::real;
constexpr auto boolean = value_kind::boolean;

// Constants
static_assert(std::same_as<decltype(32_c), int_<32>>);
static_assert(std::same_as<decltype(0_c), int_<0>>);
static_assert(std::same_as<decltype(0xff_c), int_<255>>);
static_assert(std::same_as<decltype(1'000'000_c), int_<1'000'000>>);

// Trees carry constants in the type, C++ values in the object.
static_assert(is_tree<node<op::less, node<op::minus, q_pos_, kv_pos_>, int_<8>>>(q_pos - kv_pos < 8_c));
static_assert(is_tree<node<op::less, q_pos_, literal<std::int64_t>>>(q_pos < 8));
static_assert(is_tree<node<op::less, q_pos_, literal<std::int64_t>>>(q_pos < 8u));
static_assert(is_tree<node<op::plus, score_, literal<double>>>(score + 1.5f));
static_assert(is_tree<node<op::logical_and, literal<bool>, std::remove_cvref_t<decltype(causal)>>>(true && causal));

// Kinds
static_assert(yields<integer>(q_pos + kv_pos * 2 - head));
static_assert(yields<integer>(q_pos / 2) && yields<integer>(q_pos % 2) && yields<integer>(-q_pos));
static_assert(yields<integer>(min(q_pos, 3)) && yields<integer>(max(3_c, q_pos)) && yields<integer>(abs(q_pos)));
static_assert(yields<real>(score) && yields<real>(score + q_pos) && yields<real>(q_pos * 0.5) &&
              yields<real>(q_pos / 2.0));
static_assert(yields<real>(exp(q_pos)) && yields<real>(floor(score)) && yields<real>(sqrt(4_c)));
static_assert(yields<real>(log(score)) && yields<real>(tanh(score)) && yields<real>(max(score, 0)));
static_assert(yields<boolean>(q_pos == kv_pos) && yields<boolean>(!causal) && yields<boolean>(score != 0));
static_assert(yields<integer>(select(causal, q_pos, 1)) && yields<real>(select(causal, 1, 0.5)));
static_assert(yields<boolean>(select(causal, q_pos < 3, true)));
static_assert(yields<real>(input<"x">[head]) && yields<integer>(input<"x", i32>()) && yields<real>(input<"x", f32>()));

// A whole number beside a real one is converted once, where it stands; numbers already while the tree is built.
static_assert(is_tree<node<op::plus, score_, node<op::as_real, q_pos_>>>(score + q_pos));
static_assert(is_tree<node<op::less, node<op::as_real, q_pos_>, score_>>(q_pos < score));
static_assert(is_tree<node<op::times, score_, literal<double>>>(score * 2));
static_assert(is_tree<node<op::times, score_, literal<double>>>(score * 2_c));
static_assert(is_tree<node<op::exp_, node<op::as_real, head_>>>(exp(head)));
static_assert(is_tree<node<op::divide_down, q_pos_, int_<2>>>(q_pos / 2_c));
static_assert(is_tree<node<op::divide, node<op::as_real, q_pos_>, literal<double>>>(q_pos / 2.0));

// Looking at trees
static_assert(uses<decltype(causal), q_pos_> && !uses<decltype(causal), head_>);
static_assert(uses<decltype(input<"x">(head, q_pos - 1)), q_pos_>);
static_assert(uses<decltype(select(causal, 1, input<"x", i32>[head])), score_, head_>);
static_assert(!uses<decltype(q_pos), kv_pos_>);

constexpr int count_lookups(const auto &expression) {
    int count = 0;
    for_each_lookup(expression, [&](const auto &) { ++count; });
    return count;
}
static_assert(count_lookups(causal) == 0);
static_assert(count_lookups(input<"a">[input<"b", i32>[head]] + input<"c">() * score) == 3);

// Rows: elements of them, means over them, and what is computed once for each position.
static_assert(is_tree<row_element<query_, node<op::plus, dim_, int_<1>>>>(query[dim + 1_c]));
static_assert(is_tree<row_mean<node<op::times, key_, key_>>>(mean_over_dims(key * key)));
static_assert(is_tree<row_mean<node<op::as_real, dim_>>>(mean_over_dims(dim)));
static_assert(yields<real>(query) && yields<real>(value[dim]) && yields<real>(mean_over_dims(output)));
static_assert(yields<integer>(dim) && yields<integer>(group) && yields<integer>(q_row));
static_assert(uses<decltype(query[dim + head]), query_, score_> && uses<decltype(query[dim + head]), head_> &&
              uses<decltype(query[0]), query_> && !uses<decltype(query[0]), dim_>);
static_assert(uses<decltype(mean_over_dims(key * q_row)), q_row_> && !uses<decltype(mean_over_dims(key)), query_>);
constexpr auto tabulated_angle = tabulate<8>(cos(input<"angles">(kv_pos, dim)), dim % 8_c + input<"first", i32>());
static_assert(uses<decltype(tabulated_angle), kv_pos_> && !uses<decltype(tabulated_angle), q_pos_>);
static_assert(count_lookups(tabulated_angle) == 2);
static_assert(count_lookups(query[input<"order", i32>[dim]] * mean_over_dims(query * input<"gain">[dim])) == 2);

// In a lookup that is computed once for each position, `dim` is below the extent of the table.
constexpr std::int64_t extent_of_dim(const auto &expression) {
    std::int64_t found = -1;
    detail::visit_lookups(
        expression, [&](const auto &, std::int64_t extent) { found = extent; }, 64);
    return found;
}
static_assert(extent_of_dim(input<"gain">[dim]) == 64 && extent_of_dim(mean_over_dims(input<"gain">[dim])) == 64);
static_assert(extent_of_dim(tabulate<8>(input<"angles">(kv_pos, dim), dim % 8_c)) == 8);

// Expressions are constants and template arguments.
template <const auto &Mask>
struct takes_a_mask {
    using type = std::remove_cvref_t<decltype(Mask)>;
};
constexpr auto window = causal && sliding_window(128_c);
static_assert(std::same_as<takes_a_mask<window>::type, std::remove_cvref_t<decltype(window)>>);

// What operators are not for stays out of overload resolution.
template <class A, class B>
concept can_add = requires(A a, B b) {
    a + b;
};
template <class A, class B>
concept can_compare = requires(A a, B b) {
    a == b;
};
static_assert(can_add<q_pos_, int> && can_add<double, score_> && can_add<int_<1>, int_<2>>);
static_assert(!can_add<q_pos_, std::string> && !can_add<q_pos_, const char *> && !can_add<q_pos_, void *>);
static_assert(!can_compare<q_pos_, std::string>);

}  // namespace
