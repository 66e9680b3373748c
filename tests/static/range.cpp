// SPDX-License-Identifier: MIT
//
// The range reading against brute force: whatever a random expression yields for a pair of a tile must agree with what
// is claimed of the tile. Trees are built at run time from the operators themselves, so thousands of expressions need
// no compilation of their own. HEED_TEST_SEED repeats a run.
#include <heed/heed.hpp>
#include <heed/range.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

using namespace heed;

namespace {

std::uint64_t seed() {
    const char *given = std::getenv("HEED_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 20240607;
}

// Values and ranges of any kind.

using any_value = std::variant<std::int64_t, double, bool>;
using any_range = std::variant<unknown, point<std::int64_t>, interval<std::int64_t>, point<double>,
                               real_interval<double>, real_interval<double, bool>, point<bool>, truth<bool>>;

template <value_kind Kind>
using value_of = std::conditional_t<Kind == value_kind::integer, std::int64_t,
                                    std::conditional_t<Kind == value_kind::real, double, bool>>;

template <value_kind Kind, class Range>
constexpr bool is_range_of = std::same_as<Range, unknown> || std::same_as<Range, point<value_of<Kind>>> ||
                             (Kind == value_kind::integer && std::same_as<Range, interval<std::int64_t>>) ||
                             (Kind == value_kind::real && intervals::is_real_interval<Range>) ||
                             (Kind == value_kind::boolean && std::same_as<Range, truth<bool>>);

template <class Range>
any_range as_any(const Range &range) {
    if constexpr (intervals::is_truth<Range>) {
        return truth<bool>{bool{range.may}, bool{range.must}};
    } else {
        return range;
    }
}

/// Calls `function` with the operands' ranges, each of the kind that the operator takes.
template <value_kind... Kinds, class Function>
any_range with_ranges(const Function &function, const auto &...ranges) {
    return std::visit(
        [&](const auto &...known) -> any_range {
            if constexpr ((is_range_of<Kinds, std::remove_cvref_t<decltype(known)>> && ...)) {
                return as_any(function(known...));
            } else {
                std::abort();
            }
        },
        ranges...);
}

std::string text_of(const any_value &value) {
    return std::visit([](auto v) { return std::to_string(v); }, value);
}

// Operators

struct entry {
    std::string name;
    value_kind kind;
    std::vector<value_kind> operands;
    any_value (*value)(const any_value *);
    any_range (*range)(const any_range *);
};

template <class Operator, value_kind... Kinds>
any_value value_by(const any_value *operands) {
    return [&]<std::size_t... I>(std::index_sequence<I...>)->any_value {
        return value_reading::apply(Operator{}, std::get<value_of<Kinds>>(operands[I])...);
    }
    (std::make_index_sequence<sizeof...(Kinds)>{});
}

template <class Operator, value_kind... Kinds>
any_range range_by(const any_range *operands) {
    const auto apply = [](const auto &...ranges) { return range_reading::apply(Operator{}, ranges...); };
    return [&]<std::size_t... I>(std::index_sequence<I...>) { return with_ranges<Kinds...>(apply, operands[I]...); }
    (std::make_index_sequence<sizeof...(Kinds)>{});
}

template <class Operator, value_kind... Kinds>
entry operation(std::string name) {
    return {std::move(name),
            Operator::kind(Kinds...),
            {Kinds...},
            &value_by<Operator, Kinds...>,
            &range_by<Operator, Kinds...>};
}

const std::vector<entry> &operations() {
    constexpr auto integer = value_kind::integer;
    constexpr auto real = value_kind::real;
    constexpr auto boolean = value_kind::boolean;
    static const std::vector<entry> all = {
        operation<op::plus, integer, integer>("plus"),
        operation<op::minus, integer, integer>("minus"),
        operation<op::times, integer, integer>("times"),
        operation<op::negate, integer>("negate"),
        operation<op::divide_down, integer, integer>("divide_down"),
        operation<op::modulo, integer, integer>("modulo"),
        operation<op::min_, integer, integer>("min"),
        operation<op::max_, integer, integer>("max"),
        operation<op::abs_, integer>("abs"),
        operation<op::select_<integer>, boolean, integer, integer>("select"),
        operation<op::plus, real, real>("plus"),
        operation<op::minus, real, real>("minus"),
        operation<op::times, real, real>("times"),
        operation<op::divide, real, real>("divide"),
        operation<op::negate, real>("negate"),
        operation<op::min_, real, real>("min"),
        operation<op::max_, real, real>("max"),
        operation<op::abs_, real>("abs"),
        operation<op::floor_, real>("floor"),
        operation<op::exp_, real>("exp"),
        operation<op::log_, real>("log"),
        operation<op::sqrt_, real>("sqrt"),
        operation<op::tanh_, real>("tanh"),
        operation<op::as_real, integer>("as_real"),
        operation<op::select_<real>, boolean, real, real>("select"),
        operation<op::less, integer, integer>("less"),
        operation<op::less_equal, integer, integer>("less_equal"),
        operation<op::greater, integer, integer>("greater"),
        operation<op::greater_equal, integer, integer>("greater_equal"),
        operation<op::equal, integer, integer>("equal"),
        operation<op::not_equal, integer, integer>("not_equal"),
        operation<op::less, real, real>("less"),
        operation<op::less_equal, real, real>("less_equal"),
        operation<op::greater, real, real>("greater"),
        operation<op::greater_equal, real, real>("greater_equal"),
        operation<op::equal, real, real>("equal"),
        operation<op::not_equal, real, real>("not_equal"),
        operation<op::logical_and, boolean, boolean>("logical_and"),
        operation<op::logical_or, boolean, boolean>("logical_or"),
        operation<op::logical_not, boolean>("logical_not"),
        operation<op::select_<boolean>, boolean, boolean, boolean>("select"),
    };
    return all;
}

// Trees

enum class leaf { literal, q_pos, kv_pos, head, batch, rate, score };

struct tree {
    const entry *operation = nullptr;
    leaf kind_of_leaf = leaf::literal;
    any_value literal;
    double magnitude = 0;  // of whole numbers, so that none overflows
    std::vector<tree> operands;

    std::string text() const {
        if (operation == nullptr) {
            static const std::array names = {"", "q_pos", "kv_pos", "head", "batch", "rate", "score"};
            return kind_of_leaf != leaf::literal ? names[static_cast<std::size_t>(kind_of_leaf)] : text_of(literal);
        }
        std::string text = operation->name + "(";
        for (const tree &operand : operands) {
            text += (&operand == operands.data() ? "" : ", ") + operand.text();
        }
        return text + ")";
    }
};

class tree_maker {
    std::mt19937_64 &random_;

    int below(int end) { return std::uniform_int_distribution<int>(0, end - 1)(random_); }

    tree make_leaf(value_kind kind) {
        tree made;
        if (kind == value_kind::integer) {
            made.kind_of_leaf = std::array{leaf::literal, leaf::q_pos, leaf::kv_pos, leaf::head,
                                           leaf::batch}[static_cast<std::size_t>(below(5))];
            made.literal = std::int64_t{below(16) - 6};
            made.magnitude = 64;
        } else if (kind == value_kind::real) {
            constexpr double infinite = std::numeric_limits<double>::infinity();
            const std::array values = {0.0,    0.5,    -1.5,     3.25,      -7.0,        1e308,
                                       -1e308, 1e-308, infinite, -infinite, std::nan("")};
            made.kind_of_leaf = below(8) == 0 ? leaf::score : below(6) == 0 ? leaf::rate : leaf::literal;
            // Extreme numbers are rare, or else nothing is ever known.
            made.literal = values[static_cast<std::size_t>(below(below(3) == 0 ? 11 : 5))];
        } else {
            made.literal = below(2) == 0;
        }
        return made;
    }

  public:
    explicit tree_maker(std::mt19937_64 &random) : random_(random) {}

    tree make(value_kind kind, int depth) {
        if (kind != value_kind::boolean && (depth == 0 || below(5) == 0)) {
            if (kind == value_kind::real && below(2) == 0) {
                return make_operation(kind, 0);
            }
            return make_leaf(kind);
        }
        if (kind == value_kind::boolean && below(30) == 0) {
            return make_leaf(kind);
        }
        return make_operation(kind, depth);
    }

    tree make_operation(value_kind kind, int depth) {
        std::vector<const entry *> candidates;
        for (const entry &candidate : operations()) {
            const bool ends = depth > 0 || candidate.operands.front() == value_kind::integer;
            if (candidate.kind == kind && ends) {
                candidates.push_back(&candidate);
            }
        }
        tree made;
        made.operation = candidates[static_cast<std::size_t>(below(static_cast<int>(candidates.size())))];
        double sum = 0;
        double product = 1;
        for (const value_kind operand : made.operation->operands) {
            made.operands.push_back(make(operand, depth > 0 ? depth - 1 : 0));
            sum += made.operands.back().magnitude;
            product *= made.operands.back().magnitude;
        }
        made.magnitude = made.operation->name == "times" ? product : sum;
        return made.magnitude < 1e12 ? made : make_leaf(kind);
    }
};

// The two readings of a tree

struct pair_values {
    std::int64_t q, kv, head, batch;
    double rate, score;
};

any_value evaluate_tree(const tree &t, const pair_values &at) {
    if (t.operation != nullptr) {
        std::array<any_value, 3> operands;
        for (std::size_t i = 0; i < t.operands.size(); ++i) {
            operands[i] = evaluate_tree(t.operands[i], at);
        }
        return t.operation->value(operands.data());
    }
    switch (t.kind_of_leaf) {
        case leaf::q_pos:
            return at.q;
        case leaf::kv_pos:
            return at.kv;
        case leaf::head:
            return at.head;
        case leaf::batch:
            return at.batch;
        case leaf::rate:
            return at.rate;
        case leaf::score:
            return at.score;
        case leaf::literal:
            break;
    }
    return t.literal;
}

struct tile_values {
    interval<std::int64_t> q, kv, head;
    std::int64_t batch;
    double rate;
};

any_range range_of_tree(const tree &t, const tile_values &tile) {
    if (t.operation != nullptr) {
        std::array<any_range, 3> operands;
        for (std::size_t i = 0; i < t.operands.size(); ++i) {
            operands[i] = range_of_tree(t.operands[i], tile);
        }
        return t.operation->range(operands.data());
    }
    switch (t.kind_of_leaf) {
        case leaf::q_pos:
            return tile.q;
        case leaf::kv_pos:
            return tile.kv;
        case leaf::head:
            return tile.head;
        case leaf::batch:
            return point{tile.batch};
        case leaf::rate:
            return point{tile.rate};
        case leaf::score:
            return unknown{};
        case leaf::literal:
            break;
    }
    return std::visit([](auto value) -> any_range { return point{value}; }, t.literal);
}

/// True if `value` is one that `range` allows.
bool allows(const any_range &range, const any_value &value) {
    return std::visit(
        [](const auto &known, auto v) {
            using range_type = std::remove_cvref_t<decltype(known)>;
            using value_type = decltype(v);
            if constexpr (std::same_as<range_type, unknown>) {
                return true;
            } else if constexpr (std::same_as<range_type, point<value_type>>) {
                const bool both_nan = known.value != known.value && v != v;
                return known.value == v || both_nan;
            } else if constexpr (std::same_as<value_type, bool> && std::same_as<range_type, truth<bool>>) {
                return v ? known.may : !known.must;
            } else if constexpr (std::same_as<value_type, std::int64_t> &&
                                 std::same_as<range_type, interval<std::int64_t>>) {
                return known.lowest <= v && v <= known.highest;
            } else if constexpr (std::same_as<value_type, double> && intervals::is_real_interval<range_type>) {
                return !known.holds || (std::isfinite(v) && known.lowest <= v && v <= known.highest);
            } else {
                return false;  // the range is of another kind than the value
            }
        },
        range, value);
}

std::string text_of(const any_range &range) {
    return std::visit(
        [](const auto &known) {
            std::ostringstream text;
            if constexpr (requires { known.lowest; }) {
                text << '[' << known.lowest << ", " << known.highest << ']';
            } else if constexpr (requires { known.may; }) {
                text << (known.may ? "may, " : "may not, ") << (known.must ? "must" : "need not");
            } else if constexpr (requires { known.value; }) {
                text << "point " << known.value;
            } else {
                text << "unknown";
            }
            return text.str();
        },
        range);
}

struct statistics {
    int tiles = 0;
    int decided = 0;
};

/// Compares every pair of some random tiles; returns the number of contradictions.
int check_tree(const tree &t, std::mt19937_64 &random, statistics &counts) {
    const auto between = [&](std::int64_t lowest, std::int64_t highest) {
        return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random);
    };
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const std::array scores = {0.0, -2.5, 1e30, infinite, -infinite, std::nan("")};
    for (int attempt = 0; attempt < 4; ++attempt) {
        const std::int64_t q = between(-8, 24), kv = between(0, 24), head = between(0, 3);
        const tile_values tile{{q, q + between(0, 5)},
                               {kv, kv + between(0, 5)},
                               {head, head + between(0, 1)},
                               between(0, 2),
                               between(0, 5) > 0 ? 0.25 * static_cast<double>(between(-9, 9))
                                                 : scores[static_cast<std::size_t>(between(3, 5))]};
        const any_range claimed = range_of_tree(t, tile);
        ++counts.tiles;
        if (const auto *known = std::get_if<truth<bool>>(&claimed)) {
            counts.decided += known->may == known->must ? 1 : 0;
        }
        std::size_t turn = 0;
        for (pair_values at{tile.q.lowest, 0, 0, tile.batch, tile.rate, 0}; at.q <= tile.q.highest; ++at.q) {
            for (at.kv = tile.kv.lowest; at.kv <= tile.kv.highest; ++at.kv) {
                for (at.head = tile.head.lowest; at.head <= tile.head.highest; ++at.head) {
                    at.score = scores[turn++ % scores.size()];
                    const any_value value = evaluate_tree(t, at);
                    if (!allows(claimed, value)) {
                        FAIL_CHECK("seed " << seed() << ": " << t.text() << " at q_pos " << at.q << ", kv_pos " << at.kv
                                           << ", head " << at.head << ", batch " << at.batch << ", rate " << at.rate
                                           << ", score " << at.score << ", tile q [" << tile.q.lowest << ", "
                                           << tile.q.highest << "], kv [" << tile.kv.lowest << ", " << tile.kv.highest
                                           << "], head [" << tile.head.lowest << ", " << tile.head.highest
                                           << "]: claimed " << text_of(claimed) << ", got " << text_of(value));
                        return 1;
                    }
                }
            }
        }
    }
    return 0;
}

}  // namespace

TEST_CASE("brute force never contradicts the range of a random expression") {
    std::mt19937_64 random(seed());
    tree_maker maker(random);
    statistics counts;
    int contradictions = 0;
    for (int i = 0; i < 30'000 && contradictions < 5; ++i) {
        const value_kind kind = i % 4 == 0 ? value_kind::integer : i % 4 == 1 ? value_kind::real : value_kind::boolean;
        contradictions += check_tree(maker.make(kind, 1 + i % 4), random, counts);
    }
    CHECK(contradictions == 0);
    // "May, not must" everywhere would be sound as well.
    CHECK(counts.decided > counts.tiles / 8);
}

namespace {

/// What is claimed of a tile by the compiled reading, against all pairs of the tile. `exact`: not even imprecise.
template <class Condition, class Read>
void check_condition(const Condition &condition, bool exact, const Read &read) {
    std::mt19937_64 random(seed());
    const auto between = [&](std::int64_t lowest, std::int64_t highest) {
        return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random);
    };
    for (int attempt = 0; attempt < 300; ++attempt) {
        pair_tile tile{.batch = between(0, 2), .q_len = between(1, 30), .kv_len = between(1, 30)};
        tile.q.lowest = between(-5, 25);
        tile.q.highest = tile.q.lowest + between(0, 6);
        tile.kv.lowest = between(0, 25);
        tile.kv.highest = tile.kv.lowest + between(0, 6);
        tile.head.lowest = between(0, 4);
        tile.head.highest = tile.head.lowest + between(0, 1);
        const truth<bool> claimed = truth_within(condition, tile, read);
        bool any = false;
        bool all = true;
        for (std::int64_t q = tile.q.lowest; q <= tile.q.highest; ++q) {
            for (std::int64_t kv = tile.kv.lowest; kv <= tile.kv.highest; ++kv) {
                for (std::int64_t head = tile.head.lowest; head <= tile.head.highest; ++head) {
                    const token_pair pair{.q = q,
                                          .kv = kv,
                                          .head = head,
                                          .batch = tile.batch,
                                          .q_len = tile.q_len,
                                          .kv_len = tile.kv_len};
                    const bool attends = evaluate(condition, environment_of(pair, 0.0, read));
                    any = any || attends;
                    all = all && attends;
                }
            }
        }
        INFO("seed " << seed() << ", q [" << tile.q.lowest << ", " << tile.q.highest << "], kv [" << tile.kv.lowest
                     << ", " << tile.kv.highest << "], head from " << tile.head.lowest);
        CHECK((!any || claimed.may));
        CHECK((all || !claimed.must));
        if (exact) {
            CHECK(claimed.may == any);
            CHECK(claimed.must == all);
        }
    }
}

const auto read_input = [](auto input, auto... indices) -> double {
    const std::int64_t sum = (std::int64_t{0} + ... + indices);
    return input.name() == "nan_for_some" && sum % 3 == 0 ? std::nan("") : static_cast<double>(sum * 7 % 11);
};

void check_sound(const auto &condition) { check_condition(condition, false, read_input); }
void check_exact(const auto &condition) { check_condition(condition, true, read_input); }

}  // namespace

TEST_CASE("single conditions of positions are decided exactly") {
    check_exact(causal);
    check_exact(!causal);
    check_exact(sliding_window(5_c));
    check_exact(first_tokens(4_c));
    check_exact(padded);
    check_exact(kv_pos < kv_len && true);
    check_exact(q_pos / 4_c < 3);
    check_exact(abs(q_pos - kv_pos) <= 6);
    check_exact(abs(q_pos) > 0);
    check_exact((q_pos - kv_pos) * -2 >= 8_c);
    check_exact(min(q_pos, kv_pos) >= 4 || false);
    check_exact(max(q_pos, kv_pos) < 12);
    check_exact((q_pos - kv_pos) * 0.5 < 3);
    check_exact(floor(kv_pos / 4.0) < 2.0);
    check_exact(kv_len > 12 && select(q_len < 9, true, kv_len % 2 == 0));
}

TEST_CASE("combined conditions are never contradicted") {
    check_sound(causal && (sliding_window(6_c) || first_tokens(4_c)));
    check_sound(q_pos / 8_c == kv_pos / 8_c);
    check_sound((q_pos - kv_pos) % 3_c == 0 && q_pos % -4 != -1);
    check_sound(q_pos != 7 && kv_pos != 9);
    check_sound(!(q_pos - kv_pos < head * 3) || head == 2);
    check_sound(select(head % 2 == 0, causal, q_pos <= kv_pos));
    check_sound(select(head < 2, q_pos, kv_pos) >= select(kv_pos < q_pos, 3, kv_pos * 2));
    check_sound(input<"doc">(batch, q_pos) == input<"doc">(batch, kv_pos));
    check_sound(!(q_pos * input<"nan_for_some">[batch] < 3) && kv_pos >= 0);
    check_sound(q_pos * input<"nan_for_some">[head] >= input<"nan_for_some">[q_pos]);
    check_sound(exp(q_pos * -0.5) < 0.3 || sqrt(kv_pos - 3) > 1.5 || log(q_pos) < 2 || tanh(kv_pos) < 0.9);
    check_sound(!(sqrt(q_pos) >= 0.0));
    check_sound((q_pos - q_pos) * (1.0 / 0.0) <= 0.0);
    check_sound(q_pos / kv_pos + q_pos % kv_pos < 7);
    check_sound(q_pos / (q_len - 15) < 2 && kv_pos % (q_len - 15) > -2);
}

TEST_CASE("a hole anywhere keeps a tile from being full") {
    constexpr auto hole = causal && !(q_pos == 77 && kv_pos == 13);
    constexpr pair_tile around{.q = {64, 127}, .kv = {0, 63}, .q_len = 128, .kv_len = 128};
    constexpr pair_tile beside{.q = {64, 127}, .kv = {14, 63}, .q_len = 128, .kv_len = 128};
    static_assert(truth_within(causal, around).must);
    static_assert(!truth_within(hole, around).must && truth_within(hole, around).may);
    static_assert(truth_within(hole, beside).must);
}

TEST_CASE("a variant's tiles end at kv_len") {
    constexpr auto everything = variant(heads = 1_c, head_dim = 8_c);
    constexpr auto tile = [](std::int64_t first_key, std::int64_t last_key) {
        return pair_tile{.q = {0, 7}, .kv = {first_key, last_key}, .q_len = 8, .kv_len = 20};
    };
    static_assert(attends_within(everything, tile(0, 19)).must);
    static_assert(!attends_within(everything, tile(16, 20)).must && attends_within(everything, tile(16, 20)).may);
    static_assert(!attends_within(everything, tile(20, 31)).may);
}
