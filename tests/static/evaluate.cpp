// SPDX-License-Identifier: MIT
//
// Building this file is the test: readings over a type that is unlike a number. It has no default constructor, nothing
// converts to it, its conditions are of the same type, its '/' rounds another way, and its `min` takes any number of
// arguments of any type. What it needs is declared after Heed's headers, as a generator would do.
#include <heed/heed.hpp>
#include <heed/range.hpp>

#include <cstdint>

using namespace heed;

namespace other_library {

/// A hash of the operations that made it, so that equal trees are equal values.
class symbol {
    std::uint64_t hash_;
    constexpr explicit symbol(std::uint64_t hash) : hash_(hash) {}

  public:
    static constexpr symbol named(std::uint64_t name) { return symbol(name * 0x9e3779b97f4a7c15u + 1); }
    static constexpr symbol made(std::uint64_t operation, const auto &...operands) {
        std::uint64_t hash = operation;
        ((hash = (hash ^ operands.hash_) * 0x100000001b3u + 7), ...);
        return symbol(hash);
    }
    constexpr bool is(const symbol &other) const { return hash_ == other.hash_; }
};

// clang-format off
constexpr symbol operator+(const symbol &a, const symbol &b) { return symbol::made('+', a, b); }
constexpr symbol operator-(const symbol &a, const symbol &b) { return symbol::made('-', a, b); }
constexpr symbol operator-(const symbol &a) { return symbol::made('m', a); }
constexpr symbol operator*(const symbol &a, const symbol &b) { return symbol::made('*', a, b); }
constexpr symbol operator/(const symbol &a, const symbol &b) { return symbol::made('/', a, b); }
constexpr symbol operator%(const symbol &a, const symbol &b) { return symbol::made('%', a, b); }
constexpr symbol operator<(const symbol &a, const symbol &b) { return symbol::made('<', a, b); }
constexpr symbol operator<=(const symbol &a, const symbol &b) { return symbol::made('l', a, b); }
constexpr symbol operator>(const symbol &a, const symbol &b) { return symbol::made('>', a, b); }
constexpr symbol operator>=(const symbol &a, const symbol &b) { return symbol::made('g', a, b); }
constexpr symbol operator==(const symbol &a, const symbol &b) { return symbol::made('=', a, b); }
constexpr symbol operator!=(const symbol &a, const symbol &b) { return symbol::made('n', a, b); }
constexpr symbol operator&&(const symbol &a, const symbol &b) { return symbol::made('&', a, b); }
constexpr symbol operator||(const symbol &a, const symbol &b) { return symbol::made('|', a, b); }
constexpr symbol operator!(const symbol &a) { return symbol::made('!', a); }
constexpr symbol abs(const symbol &a) { return symbol::made('a', a); }
constexpr symbol exp(const symbol &a) { return symbol::made('e', a); }
constexpr symbol log(const symbol &a) { return symbol::made('L', a); }
constexpr symbol sqrt(const symbol &a) { return symbol::made('s', a); }
constexpr symbol tanh(const symbol &a) { return symbol::made('t', a); }
constexpr symbol floor(const symbol &a) { return symbol::made('f', a); }
constexpr symbol select(const symbol &c, const symbol &a, const symbol &b) { return symbol::made('?', c, a, b); }
constexpr symbol min(symbol a, symbol b) { return symbol::made('i', a, b); }
constexpr symbol max(symbol a, symbol b) { return symbol::made('x', a, b); }
template <class A, class B, class C, class... Rest> constexpr symbol min(A &&a, B &&b, C &&c, Rest &&...rest) { return min(a, min(b, c, rest...)); }
template <class A, class B, class C, class... Rest> constexpr symbol max(A &&a, B &&b, C &&c, Rest &&...rest) { return max(a, max(b, c, rest...)); }
// clang-format on

}  // namespace other_library

namespace heed::arithmetic {

using other_library::symbol;

// clang-format off
constexpr symbol floor_divide(tag, const symbol &a, const symbol &b) { return symbol::made('D', a, b); }
constexpr symbol floor_modulo(tag, const symbol &a, const symbol &b) { return symbol::made('M', a, b); }
constexpr symbol to_real(tag, const symbol &a) { return symbol::made('R', a); }
constexpr symbol is_finite(tag, const symbol &a) { return symbol::made('F', a); }
constexpr symbol constant_like(tag, const symbol &, std::int64_t value) { return symbol::named(1000 + static_cast<std::uint64_t>(value)); }
constexpr symbol absolute(tag, const symbol &a) { return symbol::made('A', a); }  // replaces the library's own
// clang-format on

}  // namespace heed::arithmetic

namespace {

using other_library::symbol;

constexpr auto s = symbol::named(1);
constexpr auto q = symbol::named(2);
constexpr auto k = symbol::named(3);
constexpr auto number = [](std::uint64_t value) { return symbol::named(1000 + value); };

struct symbol_environment : value_reading {
    constexpr symbol operator()(score_) const { return s; }
    constexpr symbol operator()(q_pos_) const { return q; }
    constexpr symbol operator()(kv_pos_) const { return k; }
    static constexpr symbol constant(std::int64_t value) { return number(static_cast<std::uint64_t>(value)); }
    static constexpr symbol constant(double value) { return symbol::named(static_cast<std::uint64_t>(value * 64)); }
    static constexpr symbol constant(bool value) { return symbol::named(value ? 11 : 10); }
    static constexpr symbol lookup(auto input, const auto &...indices) {
        return symbol::made(input.name().size(), indices...);
    }
};

constexpr bool gives(const auto &expression, const symbol &expected) {
    return evaluate(expression, symbol_environment{}).is(expected);
}

static_assert(gives(q_pos + kv_pos * 3 - 4_c, q + k * number(3) - number(4)));
static_assert(gives(q_pos / kv_pos, symbol::made('D', q, k)) && gives(q_pos % kv_pos, symbol::made('M', q, k)));
static_assert(gives(score / q_pos, s / symbol::made('R', q)));
static_assert(gives(abs(q_pos), symbol::made('A', q)) && gives(min(q_pos, kv_pos), min(q, k)) &&
              gives(max(q_pos, kv_pos), max(q, k)));
static_assert(gives(exp(tanh(log(sqrt(floor(score))))), exp(tanh(log(sqrt(floor(s)))))));
static_assert(gives((causal && !(q_pos < kv_pos)) || q_pos != kv_pos, ((k <= q) && !(q < k)) || !(q == k)));
static_assert(gives(select(q_pos == kv_pos, q_pos, 3), select(q == k, q, number(3))));
static_assert(gives(input<"abc">(q_pos, 2), symbol::made(3, q, number(2))));
static_assert(gives(literal<bool>{{}, true}, symbol::named(11)) && gives(as_expression(0.5), symbol::named(32)));

constexpr auto q0 = symbol::named(20), q1 = symbol::named(21), k0 = symbol::named(22), k1 = symbol::named(23);

struct symbol_tile : range_reading {
    constexpr unknown operator()(score_) const { return {}; }
    constexpr interval<symbol> operator()(q_pos_) const { return {q0, q1}; }
    constexpr interval<symbol> operator()(kv_pos_) const { return {k0, k1}; }
    static constexpr point<symbol> constant(auto value) { return {symbol_environment::constant(value)}; }
    static constexpr unknown lookup(auto, const auto &...) { return {}; }
};

constexpr bool within(const auto &condition, const auto &may, const auto &must) {
    const auto known = intervals::as_truth(evaluate(condition, symbol_tile{}));
    return known.may.is(may) && known.must.is(must);
}

static_assert(within(causal, k0 <= q1, k1 <= q0));
static_assert(within(!causal, !(k1 <= q0), !(k0 <= q1)));
static_assert(within(q_pos - kv_pos < 8_c, q0 - k1 < number(8), q1 - k0 < number(8)));
static_assert(within(q_pos < 3 && kv_pos < 4, q0 < number(3) && k0 < number(4), q1 < number(3) && k1 < number(4)));
// Every rule can be instantiated.
static_assert(!within(abs(q_pos) / 2 % 3 + min(q_pos, 1) * max(-kv_pos, 2) >= kv_pos * q_pos &&
                          floor(q_pos * 0.5 / 3.0) != select(causal, 1.5, kv_pos) &&
                          (select(causal, q_pos < 3, !(q_pos > 4)) || select(causal, q_pos, kv_pos) == 1),
                      s, s));

// What is known while compiling needs no constant of the type.
constexpr auto hopeless = intervals::as_truth(evaluate(
    causal && input<"x">[kv_pos] > 0.0, symbol_tile {}));
static_assert(std::same_as<decltype(hopeless.must), std::false_type> && hopeless.may.is(k0 <= q1));
constexpr auto always = intervals::as_truth(evaluate(causal || !(score < 0) || exp(q_pos) > 1, symbol_tile{}));
static_assert(std::same_as<decltype(always.may), std::true_type> && always.must.is(k1 <= q0));

// An operator of one's own: a reading that it has no rule for is the only thing it cannot do.
struct twice : op::on_numbers {
    static constexpr auto value(const auto &a) { return a + a; }
};
constexpr auto twice_q = detail::make_node<twice>(q_pos);
static_assert(gives(twice_q, q + q));
static_assert(std::same_as<decltype(evaluate(twice_q, symbol_tile{})), unknown>);
static_assert(evaluate(detail::make_node<twice>(3_c), tile_environment<>({})).value == 6);

}  // namespace
