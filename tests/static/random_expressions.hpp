// SPDX-License-Identifier: MIT
//
// Random expressions. An expression's type is its shape, so shapes are drawn while compiling, by a hash of a seed: one
// generator draws, and two builders follow it. `compiled` builds the expression that Heed reads, `interpreted` the tree
// of interpreter.hpp.
#pragma once

#include "interpreter.hpp"

#include <heed/heed.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace heed::tests {

/// What the range reading says, with numbers as double.
struct known_range {
    double lowest = 0, highest = 0;
};

/// An expression in all readings, and what it should be.
struct random_expression {
    std::uint64_t seed;
    tree meaning;
    std::string text;
    std::function<any_value(const pair_place &)> at;
    std::function<truth<bool>(const pair_tile &)> truth_within;                 ///< conditions
    std::function<std::optional<known_range>(const pair_tile &)> range_within;  ///< numbers but for scores
};

// Several hundred; each function is in a file of its own, because compilers take their time.
std::vector<random_expression> random_masks();
std::vector<random_expression> more_random_masks();
std::vector<random_expression> random_numbers();
std::vector<random_expression> random_scores();

namespace random_expressions {

/// An operator, function or word: its name for the interpreter, and how Heed's users write it.
template <class Function>
struct operation {
    const char *name;
    Function write;
};
template <class Function>
operation(const char *, Function) -> operation<Function>;

struct compiled {
    static constexpr auto leaf(auto terminal) { return terminal; }
    template <std::int64_t Value>
    static constexpr auto constant() {
        return int_<Value>{};
    }
    static constexpr auto literal(auto value) { return as_expression(value); }
    template <class Function>
    static constexpr auto make(const operation<Function> &what, auto... operands) {
        return what.write(operands...);
    }
};

struct interpreted {
    template <class Terminal>
    static tree leaf(Terminal) {
        return tree(std::string(Terminal::name));
    }
    template <std::int64_t Value>
    static tree constant() {
        return tree(any_value(Value));
    }
    static tree literal(auto value) { return tree(any_value(value)); }
    template <class Function>
    static tree make(const operation<Function> &what, auto... operands) {
        return tree(what.name, {std::move(operands)...});
    }
};

constexpr std::uint64_t mixed(std::uint64_t seed) {
    seed += 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9u;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebu;
    return seed ^ (seed >> 31);
}

/// The seed of an operand.
constexpr std::uint64_t of(std::uint64_t seed, std::uint64_t operand) { return mixed(seed) + operand; }

/// 0 ... count - 1.
constexpr int draw(std::uint64_t seed, int count) {
    return static_cast<int>((mixed(seed ^ 0x5851f42d4c957f2du) >> 32) % static_cast<std::uint64_t>(count));
}

constexpr std::int64_t draw(std::uint64_t seed, std::int64_t lowest, std::int64_t highest) {
    return lowest + static_cast<std::int64_t>((mixed(seed ^ 0x14057b7ef767814fu) >> 32) %
                                              static_cast<std::uint64_t>(highest - lowest + 1));
}

// clang-format off
inline constexpr operation plus{"+", [](auto a, auto b) { return a + b; }};
inline constexpr operation minus{"-", [](auto a, auto b) { return a - b; }};
inline constexpr operation times{"*", [](auto a, auto b) { return a * b; }};
inline constexpr operation divide{"/", [](auto a, auto b) { return a / b; }};
inline constexpr operation modulo{"%", [](auto a, auto b) { return a % b; }};
inline constexpr operation negate{"negate", [](auto a) { return -a; }};
inline constexpr operation smaller{"min", [](auto a, auto b) { return min(a, b); }};
inline constexpr operation larger{"max", [](auto a, auto b) { return max(a, b); }};
inline constexpr operation absolute{"abs", [](auto a) { return abs(a); }};
inline constexpr operation round_down{"floor", [](auto a) { return floor(a); }};
inline constexpr operation exponential{"exp", [](auto a) { return exp(a); }};
inline constexpr operation logarithm{"log", [](auto a) { return log(a); }};
inline constexpr operation root{"sqrt", [](auto a) { return sqrt(a); }};
inline constexpr operation tangent{"tanh", [](auto a) { return tanh(a); }};
inline constexpr operation chosen{"select", [](auto c, auto a, auto b) { return select(c, a, b); }};
inline constexpr operation less{"<", [](auto a, auto b) { return a < b; }};
inline constexpr operation less_equal{"<=", [](auto a, auto b) { return a <= b; }};
inline constexpr operation greater{">", [](auto a, auto b) { return a > b; }};
inline constexpr operation greater_equal{">=", [](auto a, auto b) { return a >= b; }};
inline constexpr operation equal{"==", [](auto a, auto b) { return a == b; }};
inline constexpr operation not_equal{"!=", [](auto a, auto b) { return a != b; }};
inline constexpr operation both{"&&", [](auto a, auto b) { return a && b; }};
inline constexpr operation either{"||", [](auto a, auto b) { return a || b; }};
inline constexpr operation negation{"!", [](auto a) { return !a; }};

inline constexpr operation ints{"input ints/1", [](auto i) { return input<"ints", i32>[i]; }};
inline constexpr operation ints_of_pairs{"input ints_of_pairs/2", [](auto i, auto j) { return input<"ints_of_pairs", i32>(i, j); }};
inline constexpr operation reals{"input reals/1", [](auto i) { return input<"reals">[i]; }};
inline constexpr operation reals_of_pairs{"input reals_of_pairs/2", [](auto i, auto j) { return input<"reals_of_pairs">(i, j); }};
inline constexpr operation rates{"input rates/1", [](auto i) { return input<"rates">[i]; }};

inline constexpr operation no_later{"causal", [] { return heed::causal; }};
inline constexpr operation window{"sliding_window", [](auto a) { return sliding_window(a); }};
inline constexpr operation first{"first_tokens", [](auto a) { return first_tokens(a); }};
inline constexpr operation prefix{"prefix_lm", [](auto a) { return prefix_lm(a); }};
inline constexpr operation around{"neighbourhood", [](auto a) { return neighbourhood(a); }};
inline constexpr operation steps{"strided", [](auto a) { return strided(a); }};
inline constexpr operation dilated{"dilated_window", [](auto a, auto b) { return dilated_window(a, b); }};
inline constexpr operation merged_steps{"sparse_strided", [](auto a) { return sparse_strided(a); }};
inline constexpr operation merged_columns{"sparse_fixed", [](auto a, auto b) { return sparse_fixed(a, b); }};
inline constexpr operation one_block{"blocks", [](auto a) { return blocks(a); }};
inline constexpr operation three_blocks{"neighbouring_blocks", [](auto a) { return neighbouring_blocks(a, 1_c); }};
inline constexpr operation listed{"listed_blocks", [] { return random_blocks(4_c, 2_c, input<"ints_of_pairs", i32>); }};
inline constexpr operation document{"same", [] { return same(input<"ints_of_pairs", i32>); }};
inline constexpr operation global{"global_tokens", [](auto a) { return global_tokens(a); }};
inline constexpr operation image{"neighbourhood_2d", [](auto a) { return neighbourhood_2d(a, 1_c, 2_c); }};
inline constexpr operation tiled_image{"windows_2d", [](auto a) { return windows_2d(a, 2_c, 3_c); }};
inline constexpr operation shifted{"shifted_neighbourhood", [](auto a) { return shifted_neighbourhood(12_c, a); }};

inline constexpr operation capped{"softcap", [](auto a, auto b) { return softcap(a, b); }};
inline constexpr operation cooled{"temperature", [](auto a, auto b) { return temperature(a, b); }};
inline constexpr operation by_head{"scaled_by_head", [](auto a) { return scaled_by_head(a, input<"reals">); }};
inline constexpr operation slopes{"alibi_bias", [](auto heads) { return alibi_bias(heads); }};
inline constexpr operation clipped{"clipped_bias", [](auto a) { return clipped_bias(a, input<"reals_of_pairs">); }};
// clang-format on

/// A number known while compiling, or a literal.
template <std::uint64_t Seed, std::int64_t Lowest, std::int64_t Highest, class Builder>
constexpr auto size(Builder build) {
    constexpr std::int64_t value = draw(Seed, Lowest, Highest);
    if constexpr (draw(Seed, 2) == 0) {
        return Builder::template constant<value>();
    } else {
        return build.literal(value);
    }
}

template <std::uint64_t Seed, class Builder>
constexpr auto small_real(Builder build) {
    return build.literal(static_cast<double>(draw(Seed, -20, 20)) / 4 + 0.125);
}

template <std::uint64_t Seed, class Builder>
constexpr auto whole_leaf(Builder build) {
    constexpr int which = draw(Seed, 9);
    // clang-format off
    if constexpr (which <= 1) return build.leaf(q_pos);
    else if constexpr (which <= 3) return build.leaf(kv_pos);
    else if constexpr (which == 4) return build.leaf(head);
    else if constexpr (which == 5) return build.leaf(batch);
    else if constexpr (which == 6) return build.leaf(q_len);
    else if constexpr (which == 7) return build.leaf(kv_len);
    else return size<of(Seed, 1), -9, 12>(build);
    // clang-format on
}

template <std::uint64_t Seed, int Depth, class Builder>
constexpr auto condition(Builder build);

// Products have a small factor, so that nothing overflows.
template <std::uint64_t Seed, int Depth, class Builder>
constexpr auto whole(Builder build) {
    if constexpr (Depth == 0) {
        return whole_leaf<Seed>(build);
    } else {
        const auto a = [&] { return whole<of(Seed, 1), Depth - 1>(build); };
        const auto b = [&] { return whole<of(Seed, 2), Depth - 1>(build); };
        const auto divisor = [&] {
            if constexpr (draw(of(Seed, 3), 4) == 0) {
                return build.make(ints, build.leaf(batch));
            } else if constexpr (draw(of(Seed, 3), 4) == 1) {
                return whole_leaf<of(Seed, 4)>(build);
            } else {
                return size<of(Seed, 5), -5, 7>(build);
            }
        };
        constexpr int which = draw(Seed, 15);
        // clang-format off
        if constexpr (which <= 1) return build.make(plus, a(), b());
        else if constexpr (which <= 3) return build.make(minus, a(), b());
        else if constexpr (which == 4) return build.make(negate, a());
        else if constexpr (which == 5) return build.make(times, a(), size<of(Seed, 6), -3, 3>(build));
        else if constexpr (which == 6) return build.make(times, whole_leaf<of(Seed, 1)>(build), whole_leaf<of(Seed, 2)>(build));
        else if constexpr (which == 7) return build.make(divide, a(), divisor());
        else if constexpr (which == 8) return build.make(modulo, a(), divisor());
        else if constexpr (which == 9) return build.make(smaller, a(), b());
        else if constexpr (which == 10) return build.make(larger, a(), b());
        else if constexpr (which == 11) return build.make(absolute, a());
        else if constexpr (which == 12) return build.make(chosen, condition<of(Seed, 7), Depth - 1>(build), a(), b());
        else if constexpr (which == 13) return build.make(ints, a());
        else return build.make(ints_of_pairs, whole_leaf<of(Seed, 1)>(build), b());
        // clang-format on
    }
}

/// Numbers on which every step is exact or rounded alike, so that comparisons and `floor` agree.
template <std::uint64_t Seed, int Depth, class Builder>
constexpr auto real(Builder build) {
    if constexpr (Depth == 0) {
        // clang-format off
        if constexpr (draw(Seed, 3) == 0) return small_real<of(Seed, 1)>(build);
        else if constexpr (draw(Seed, 3) == 1) return build.make(reals, whole_leaf<of(Seed, 1)>(build));
        else return build.make(reals, build.leaf(batch));
        // clang-format on
    } else {
        const auto a = [&] { return real<of(Seed, 1), Depth - 1>(build); };
        const auto b = [&] { return real<of(Seed, 2), Depth - 1>(build); };
        const auto n = [&] { return whole<of(Seed, 3), Depth - 1>(build); };
        constexpr int which = draw(Seed, 13);
        // clang-format off
        if constexpr (which == 0) return build.make(plus, a(), n());
        else if constexpr (which == 1) return build.make(minus, n(), b());
        else if constexpr (which == 2) return build.make(minus, a(), b());
        else if constexpr (which == 3) return build.make(negate, a());
        else if constexpr (which == 4) return build.make(times, n(), small_real<of(Seed, 4)>(build));
        else if constexpr (which == 5) return build.make(times, real<of(Seed, 1), 0>(build), b());
        else if constexpr (which == 6) return build.make(divide, n(), small_real<of(Seed, 4)>(build));
        else if constexpr (which == 7) return build.make(divide, a(), build.make(reals, build.leaf(head)));
        else if constexpr (which == 8) return build.make(smaller, a(), n());
        else if constexpr (which == 9) return build.make(larger, b(), a());
        else if constexpr (which == 10) return build.make(absolute, a());
        else if constexpr (which == 11) return build.make(round_down, a());
        else return build.make(chosen, condition<of(Seed, 5), Depth - 1>(build), a(), n());
        // clang-format on
    }
}

template <std::uint64_t Seed, class Builder>
constexpr auto word(Builder build) {
    constexpr int which = draw(Seed, 17);
    // clang-format off
    if constexpr (which == 0) return build.make(no_later);
    else if constexpr (which == 1) return build.make(window, size<of(Seed, 1), 1, 12>(build));
    else if constexpr (which == 2) return build.make(first, whole_leaf<of(Seed, 1)>(build));
    else if constexpr (which == 3) return build.make(prefix, build.make(ints, build.leaf(batch)));
    else if constexpr (which == 4) return build.make(around, size<of(Seed, 1), 0, 9>(build));
    else if constexpr (which == 5) return build.make(steps, size<of(Seed, 1), 1, 5>(build));
    else if constexpr (which == 6) return build.make(dilated, size<of(Seed, 1), 1, 5>(build), size<of(Seed, 2), 1, 4>(build));
    else if constexpr (which == 7) return build.make(merged_steps, size<of(Seed, 1), 1, 9>(build));
    else if constexpr (which == 8) return build.make(merged_columns, size<of(Seed, 1), 3, 9>(build), size<of(Seed, 2), 1, 3>(build));
    else if constexpr (which == 9) return build.make(one_block, size<of(Seed, 1), 1, 12>(build));
    else if constexpr (which == 10) return build.make(three_blocks, size<of(Seed, 1), 1, 6>(build));
    else if constexpr (which == 11) return build.make(listed);
    else if constexpr (which == 12) return build.make(document);
    else if constexpr (which == 13) return build.make(global, size<of(Seed, 1), 1, 6>(build));
    else if constexpr (which == 14) return build.make(image, size<of(Seed, 1), 3, 7>(build));
    else if constexpr (which == 15) return build.make(tiled_image, size<of(Seed, 1), 3, 9>(build));
    else return build.make(shifted, size<of(Seed, 1), 0, 5>(build));
    // clang-format on
}

template <std::uint64_t Seed, class Builder>
constexpr auto comparison(Builder build, auto a, auto b) {
    constexpr int which = draw(Seed, 6);
    // clang-format off
    if constexpr (which == 0) return build.make(less, a, b);
    else if constexpr (which == 1) return build.make(less_equal, a, b);
    else if constexpr (which == 2) return build.make(greater, a, b);
    else if constexpr (which == 3) return build.make(greater_equal, a, b);
    else if constexpr (which == 4) return build.make(equal, a, b);
    else return build.make(not_equal, a, b);
    // clang-format on
}

template <std::uint64_t Seed, int Depth, class Builder>
constexpr auto condition(Builder build) {
    constexpr int below = Depth > 0 ? Depth - 1 : 0;
    constexpr int which = draw(Seed, Depth == 0 ? 6 : 16);
    // clang-format off
    if constexpr (which <= 2) return word<of(Seed, 1)>(build);
    else if constexpr (which == 3) return comparison<of(Seed, 1)>(build, whole_leaf<of(Seed, 2)>(build), whole_leaf<of(Seed, 3)>(build));
    else if constexpr (which == 4) return comparison<of(Seed, 1)>(build, build.make(rates, build.leaf(batch)), real<of(Seed, 3), below>(build));
    else if constexpr (which == 5) return comparison<of(Seed, 1)>(build, real<of(Seed, 2), below>(build), whole<of(Seed, 3), below>(build));
    else if constexpr (which <= 7) return comparison<of(Seed, 1)>(build, whole<of(Seed, 2), below>(build), whole<of(Seed, 3), below>(build));
    else if constexpr (which == 8) return comparison<of(Seed, 1)>(build, real<of(Seed, 2), below>(build), real<of(Seed, 3), below>(build));
    else if constexpr (which == 9) return comparison<of(Seed, 1)>(build, build.make(times, whole_leaf<of(Seed, 2)>(build), build.make(rates, build.leaf(batch))), whole<of(Seed, 3), below>(build));
    else if constexpr (which <= 11) return build.make(both, condition<of(Seed, 1), below>(build), condition<of(Seed, 2), below>(build));
    else if constexpr (which <= 13) return build.make(either, condition<of(Seed, 1), below>(build), condition<of(Seed, 2), below>(build));
    else if constexpr (which == 14) return build.make(negation, condition<of(Seed, 1), below>(build));
    else return build.make(chosen, condition<of(Seed, 1), below>(build), condition<of(Seed, 2), below>(build), build.literal(draw(Seed, 32) < 16));
    // clang-format on
}

/// Smooth in `score`, because readings may round differently (so no root of 0); what it chooses by is exact.
template <std::uint64_t Seed, int Depth, class Builder>
constexpr auto score_expression(Builder build) {
    if constexpr (Depth == 0) {
        constexpr int which = draw(Seed, 6);
        // clang-format off
        if constexpr (which <= 2) return build.leaf(score);
        else if constexpr (which == 3) return build.make(slopes, Builder::template constant<std::int64_t{1} << draw(of(Seed, 1), 6)>());
        else if constexpr (which == 4) return build.make(clipped, size<of(Seed, 1), 1, 9>(build));
        else return real<of(Seed, 1), 1>(build);
        // clang-format on
    } else {
        const auto a = [&] { return score_expression<of(Seed, 1), Depth - 1>(build); };
        const auto b = [&] { return score_expression<of(Seed, 2), Depth - 1>(build); };
        constexpr int which = draw(Seed, 15);
        // clang-format off
        if constexpr (which <= 1) return build.make(plus, a(), b());
        else if constexpr (which == 2) return build.make(minus, a(), b());
        else if constexpr (which == 3) return build.make(times, small_real<of(Seed, 3)>(build), b());
        else if constexpr (which == 4) return build.make(capped, a(), build.literal(static_cast<double>(draw(of(Seed, 3), 1, 40))));
        else if constexpr (which == 5) return build.make(cooled, a(), build.make(reals, build.leaf(head)));
        else if constexpr (which == 6) return build.make(by_head, a());
        else if constexpr (which == 7) return build.make(tangent, a());
        else if constexpr (which == 8) return build.make(exponential, build.make(smaller, a(), build.literal(2.0)));
        else if constexpr (which == 9) return build.make(logarithm, build.make(plus, build.make(absolute, a()), build.literal(1.0)));
        else if constexpr (which == 10) return build.make(root, build.make(plus, build.make(absolute, a()), build.literal(0.25)));
        else if constexpr (which == 11) return build.make(larger, a(), b());
        else if constexpr (which == 12) return build.make(plus, a(), whole<of(Seed, 3), 1>(build));
        else if constexpr (which == 13) return build.make(negate, a());
        else return build.make(chosen, condition<of(Seed, 3), 1>(build), a(), b());
        // clang-format on
    }
}

/// Reads the tables of the interpreter.
struct tables {
    template <class Input, class... Indices>
    double operator()(Input, Indices... indices) const {
        return element(Input::name(), {indices...});
    }
};

inline auto environment_at(const pair_place &where) {
    return environment_of({.q = where.q_pos,
                           .kv = where.kv_pos,
                           .head = where.head,
                           .batch = where.batch,
                           .q_len = where.q_len,
                           .kv_len = where.kv_len},
                          where.score, tables{});
}

template <class T>
std::optional<known_range> as_known_range(const T &range) {
    if constexpr (intervals::is_point<T>) {
        return known_range{static_cast<double>(range.value), static_cast<double>(range.value)};
    } else if constexpr (intervals::is_real_interval<T>) {
        return range.holds ? std::optional(known_range{range.lowest, range.highest}) : std::nullopt;
    } else if constexpr (requires { range.lowest; }) {
        return known_range{static_cast<double>(range.lowest), static_cast<double>(range.highest)};
    } else {
        return std::nullopt;
    }
}

/// `Draw` has a static function `from<seed>(builder)`; `WithRange` if ranges are to be read as well.
template <class Draw, std::uint64_t Seed, bool WithRange>
random_expression make() {
    static constexpr auto expression = Draw::template from<Seed>(compiled{});
    random_expression result{
        Seed,
        Draw::template from<Seed>(interpreted{}),
        formula(expression),
        [](const pair_place &where) { return any_value(evaluate(expression, environment_at(where))); },
        {},
        {}};
    if constexpr (expression.kind == value_kind::boolean) {
        result.truth_within = [](const pair_tile &tile) { return truth_within(expression, tile, tables{}); };
    } else if constexpr (WithRange) {
        result.range_within = [](const pair_tile &tile) {
            return as_known_range(evaluate(expression, tile_environment(tile, tables{})));
        };
    }
    return result;
}

/// `Count` expressions, of the seeds from `First` on.
template <class Draw, std::uint64_t First, std::uint64_t Count, bool WithRange = true>
std::vector<random_expression> make_all() {
    return []<std::uint64_t... I>(std::integer_sequence<std::uint64_t, I...>) {
        std::vector<random_expression> all;
        (all.push_back(make<Draw, First + I, WithRange>()), ...);
        return all;
    }
    (std::make_integer_sequence<std::uint64_t, Count>{});
}

}  // namespace random_expressions
}  // namespace heed::tests
