// SPDX-License-Identifier: MIT
#include "interpreter.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

namespace heed::tests {

namespace {

using whole = std::int64_t;

bool is_whole(const any_value &value) { return std::holds_alternative<whole>(value); }
double real(const any_value &value) {
    return is_whole(value) ? static_cast<double>(std::get<whole>(value)) : std::get<double>(value);
}

whole floor_divide(whole a, whole b) {
    return b == 0 ? 0 : static_cast<whole>(std::floor(static_cast<double>(a) / static_cast<double>(b)));
}
whole floor_modulo(whole a, whole b) { return b == 0 ? 0 : a - b * floor_divide(a, b); }

/// Operands of a node while it is evaluated.
struct operands {
    const tree &node;
    const pair_place &where;

    any_value operator[](std::size_t number) const { return node.operand(number, where); }
    whole integer(std::size_t number) const { return std::get<whole>((*this)[number]); }
    bool truth(std::size_t number) const { return std::get<bool>((*this)[number]); }

    /// Both whole: `of_whole`; otherwise `of_real` of both.
    template <class OfWhole, class OfReal>
    any_value combine(OfWhole of_whole, OfReal of_real) const {
        const any_value a = (*this)[0], b = (*this)[1];
        if (is_whole(a) && is_whole(b)) return of_whole(std::get<whole>(a), std::get<whole>(b));
        return of_real(real(a), real(b));
    }
    template <class Function>
    any_value combine(Function function) const {
        return combine(function, function);
    }

    any_value chosen() const {
        const any_value a = (*this)[1], b = (*this)[2];
        if (std::holds_alternative<bool>(a) || (is_whole(a) && is_whole(b))) return truth(0) ? a : b;
        return truth(0) ? real(a) : real(b);
    }
};

// Words, from their definitions: sets of pairs.

bool same_block(whole q, whole kv, whole size) {
    for (whole first = -100 * size; first < 100 * size; first += size) {
        if (first <= q && q < first + size) return first <= kv && kv < first + size;
    }
    throw std::out_of_range("position");
}

bool is_multiple(whole distance, whole stride) { return stride != 0 && distance % stride == 0; }

bool is_within(whole value, whole lowest, whole highest) { return lowest <= value && value <= highest; }

/// The window of 2 radius + 1 around a coordinate, moved until it lies within 0 ... length - 1.
bool in_shifted_window(whole q, whole kv, whole length, whole radius) {
    whole first = q - radius, last = q + radius;
    while (first < 0) ++first, ++last;
    while (last >= length) --first, --last;
    return is_within(kv, first, last);
}

struct pixel {
    whole row, column;
    pixel(whole position, whole width) : row(0), column(position) {
        for (; column < 0; column += width) --row;
        for (; column >= width; column -= width) ++row;
    }
};

double slope(whole head, whole heads) {
    // Press et al.: for 8 heads 1/2, 1/4 ... 1/256; only powers of two here.
    return std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

using rule = any_value (*)(const tree &, const pair_place &);

#define HEED_RULE(expression)                                 \
    [](const tree &node, const pair_place &at) -> any_value { \
        [[maybe_unused]] const operands of{node, at};         \
        return expression;                                    \
    }
#define HEED_COMPARISON(symbol) HEED_RULE(of.combine([](auto a, auto b) -> any_value { return a symbol b; }))
#define HEED_FUNCTION(name) HEED_RULE(std::name(real(of[0])))
#define HEED_TABLE(name)                                                             \
    {"input " name "/1", HEED_RULE(element(name, {of.integer(0)}))}, {               \
        "input " name "/2", HEED_RULE(element(name, {of.integer(0), of.integer(1)})) \
    }
#define HEED_INTEGER_TABLE(name)                                                                         \
    {"input " name "/1", HEED_RULE(static_cast<whole>(element(name, {of.integer(0)})))}, {               \
        "input " name "/2", HEED_RULE(static_cast<whole>(element(name, {of.integer(0), of.integer(1)}))) \
    }

// clang-format off
const std::map<std::string, rule> &rules() {
    static const std::map<std::string, rule> all{
        {"score", HEED_RULE(at.score)}, {"q_pos", HEED_RULE(at.q_pos)}, {"kv_pos", HEED_RULE(at.kv_pos)},
        {"head", HEED_RULE(at.head)}, {"batch", HEED_RULE(at.batch)}, {"q_len", HEED_RULE(at.q_len)},
        {"kv_len", HEED_RULE(at.kv_len)},
        HEED_INTEGER_TABLE("ints"), HEED_INTEGER_TABLE("ints_of_pairs"), HEED_TABLE("reals"),
        HEED_TABLE("reals_of_pairs"), HEED_TABLE("rates"),

        {"+", HEED_RULE(of.combine([](auto a, auto b) -> any_value { return a + b; }))},
        {"-", HEED_RULE(of.combine([](auto a, auto b) -> any_value { return a - b; }))},
        {"*", HEED_RULE(of.combine([](auto a, auto b) -> any_value { return a * b; }))},
        {"/", HEED_RULE(of.combine([](whole a, whole b) -> any_value { return floor_divide(a, b); },
                                   [](double a, double b) -> any_value { return a / b; }))},
        {"%", HEED_RULE(floor_modulo(of.integer(0), of.integer(1)))},
        {"negate", HEED_RULE(is_whole(of[0]) ? any_value(-of.integer(0)) : any_value(-real(of[0])))},
        {"min", HEED_RULE(of.combine([](auto a, auto b) -> any_value { return b != b ? b : std::min(a, b); }))},
        {"max", HEED_RULE(of.combine([](auto a, auto b) -> any_value { return b != b ? b : std::max(a, b); }))},
        {"abs", HEED_RULE(is_whole(of[0]) ? any_value(std::abs(of.integer(0))) : any_value(std::fabs(real(of[0]))))},
        {"floor", HEED_FUNCTION(floor)}, {"exp", HEED_FUNCTION(exp)}, {"log", HEED_FUNCTION(log)},
        {"sqrt", HEED_FUNCTION(sqrt)}, {"tanh", HEED_FUNCTION(tanh)},
        {"<", HEED_COMPARISON(<)}, {"<=", HEED_COMPARISON(<=)}, {">", HEED_COMPARISON(>)},
        {">=", HEED_COMPARISON(>=)}, {"==", HEED_COMPARISON(==)}, {"!=", HEED_COMPARISON(!=)},
        {"&&", HEED_RULE(of.truth(0) && of.truth(1))}, {"||", HEED_RULE(of.truth(0) || of.truth(1))},
        {"!", HEED_RULE(!of.truth(0))},
        {"select", HEED_RULE(of.chosen())},

        {"causal", HEED_RULE(at.kv_pos <= at.q_pos)},
        {"sliding_window", HEED_RULE(at.kv_pos > at.q_pos - of.integer(0))},
        {"first_tokens", HEED_RULE(at.kv_pos < of.integer(0))},
        {"prefix_lm", HEED_RULE(at.kv_pos <= at.q_pos || at.kv_pos < of.integer(0))},
        {"neighbourhood", HEED_RULE(is_within(at.kv_pos, at.q_pos - of.integer(0), at.q_pos + of.integer(0)))},
        {"strided", HEED_RULE(is_multiple(at.q_pos - at.kv_pos, of.integer(0)))},
        {"dilated_window", HEED_RULE(at.kv_pos > at.q_pos - of.integer(0) * of.integer(1) &&
                                     is_multiple(at.q_pos - at.kv_pos, of.integer(1)))},
        {"sparse_strided", HEED_RULE(is_within(at.kv_pos, at.q_pos - of.integer(0), at.q_pos) ||
                                     (at.kv_pos <= at.q_pos && is_multiple(at.q_pos - at.kv_pos, of.integer(0))))},
        {"sparse_fixed", HEED_RULE(at.kv_pos <= at.q_pos &&
                                   (same_block(at.q_pos, at.kv_pos, of.integer(0)) ||
                                    !same_block(at.kv_pos, at.kv_pos + of.integer(1), of.integer(0))))},
        {"blocks", HEED_RULE(same_block(at.q_pos, at.kv_pos, of.integer(0)))},
        {"neighbouring_blocks", HEED_RULE(same_block(at.q_pos, at.kv_pos, of.integer(0)) ||
                                          same_block(at.q_pos, at.kv_pos + of.integer(0), of.integer(0)) ||
                                          same_block(at.q_pos, at.kv_pos - of.integer(0), of.integer(0)))},
        {"listed_blocks", HEED_RULE(
            element("ints_of_pairs", {floor_divide(at.q_pos, 4), 0}) == static_cast<double>(floor_divide(at.kv_pos, 4)) ||
            element("ints_of_pairs", {floor_divide(at.q_pos, 4), 1}) == static_cast<double>(floor_divide(at.kv_pos, 4)))},
        {"same", HEED_RULE(element("ints_of_pairs", {at.batch, at.q_pos}) == element("ints_of_pairs", {at.batch, at.kv_pos}))},
        {"global_tokens", HEED_RULE(std::min(at.q_pos, at.kv_pos) < of.integer(0))},
        {"neighbourhood_2d", HEED_RULE(std::abs(pixel(at.q_pos, of.integer(0)).row - pixel(at.kv_pos, of.integer(0)).row) <= 1 &&
                                       std::abs(pixel(at.q_pos, of.integer(0)).column - pixel(at.kv_pos, of.integer(0)).column) <= 2)},
        {"windows_2d", HEED_RULE(same_block(pixel(at.q_pos, of.integer(0)).row, pixel(at.kv_pos, of.integer(0)).row, 2) &&
                                 same_block(pixel(at.q_pos, of.integer(0)).column, pixel(at.kv_pos, of.integer(0)).column, 3))},
        {"shifted_neighbourhood", HEED_RULE(in_shifted_window(at.q_pos, at.kv_pos, 12, of.integer(0)))},

        {"softcap", HEED_RULE(real(of[1]) * std::tanh(real(of[0]) / real(of[1])))},
        {"temperature", HEED_RULE(real(of[0]) / real(of[1]))},
        {"scaled_by_head", HEED_RULE(real(of[0]) * element("reals", {at.head}))},
        {"alibi_bias", HEED_RULE(-slope(at.head, of.integer(0)) * static_cast<double>(std::abs(at.q_pos - at.kv_pos)))},
        {"clipped_bias", HEED_RULE(element("reals_of_pairs", {std::clamp(at.kv_pos - at.q_pos, -of.integer(0), of.integer(0)) + of.integer(0), at.head}))},
    };
    return all;
}
// clang-format on

#undef HEED_RULE
#undef HEED_COMPARISON
#undef HEED_FUNCTION
#undef HEED_TABLE
#undef HEED_INTEGER_TABLE

rule rule_of(const std::string &name) {
    const auto found = rules().find(name);
    if (found == rules().end()) throw std::invalid_argument(std::string("no rule for ").append(name));
    return found->second;
}

/// Reads what C++ would read, with fewer operators.
class parser {
    std::string_view rest_;

    [[noreturn]] void refuse(std::string_view expected) const {
        throw std::invalid_argument(std::string("expected ").append(expected).append(" at ").append(rest_));
    }

    void skip_spaces() {
        while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    }

    bool accept(std::string_view token) {
        skip_spaces();
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }

    void expect(std::string_view token) {
        if (!accept(token)) refuse(token);
    }

    /// The longest operator here that binds at least as tightly as `least`, and how tightly; or nothing.
    std::pair<std::string, int> infix(int least) {
        static constexpr std::pair<std::string_view, int> symbols[] = {
            {"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4}, {">=", 4}, {"<", 4},
            {">", 4},  {"+", 5},  {"-", 5},  {"*", 6},  {"/", 6},  {"%", 6}};
        skip_spaces();
        for (const auto &[symbol, level] : symbols) {
            if (!rest_.starts_with(symbol)) continue;
            if (level < least) return {};
            rest_.remove_prefix(symbol.size());
            return {std::string(symbol), level};
        }
        return {};
    }

    tree number() {
        const char *begin = rest_.data();
        double value = 0;
        const auto end = std::from_chars(begin, begin + rest_.size(), value).ptr;
        const std::string_view digits = rest_.substr(0, static_cast<std::size_t>(end - begin));
        rest_.remove_prefix(digits.size());
        if (digits.find_first_of(".e") != std::string_view::npos) return tree(any_value(value));
        return tree(any_value(static_cast<whole>(value)));
    }

    std::vector<tree> operands_until(std::string_view end) {
        std::vector<tree> operands;
        while (!accept(end)) {
            if (!operands.empty()) expect(",");
            operands.push_back(expression(1));
        }
        return operands;
    }

    tree table() {
        expect("<\"");
        std::string name = std::string("input ").append(rest_.substr(0, rest_.find('"')));
        rest_.remove_prefix(rest_.find('"'));
        expect("\"");
        const bool integers = accept(", i32");
        if (integers != name.starts_with("input ints")) refuse("a table of the right type before");
        expect(">");
        std::vector<tree> indices = operands_until(accept("[") ? "]" : (expect("("), ")"));
        name.append(1, '/').append(std::to_string(indices.size()));
        return tree(name, std::move(indices));
    }

    tree primary() {
        skip_spaces();
        if (accept("(")) {
            tree inner = expression(1);
            expect(")");
            return inner;
        }
        if (rest_.empty()) refuse("an operand");
        if (rest_.front() >= '0' && rest_.front() <= '9') return number();
        const std::size_t length = std::min(rest_.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"), rest_.size());
        const std::string name(rest_.substr(0, length));
        rest_.remove_prefix(length);
        if (name == "true" || name == "false") return tree(any_value(name == "true"));
        if (name == "input") return table();
        return accept("(") ? tree(name, operands_until(")")) : tree(name);
    }

    tree prefixed() {
        if (accept("--")) refuse("one minus sign");
        if (accept("-")) return tree("negate", {prefixed()});
        if (accept("!")) return tree("!", {prefixed()});
        return primary();
    }

    tree expression(int least) {
        tree left = prefixed();
        for (;;) {
            const auto [symbol, level] = infix(least);
            if (symbol.empty()) return left;
            tree right = expression(level + 1);
            left = tree(symbol, {std::move(left), std::move(right)});
        }
    }

  public:
    explicit parser(std::string_view text) : rest_(text) {}

    tree all() {
        tree result = expression(1);
        skip_spaces();
        if (!rest_.empty()) refuse("the end");
        return result;
    }
};

}  // namespace

double element(std::string_view table, std::initializer_list<std::int64_t> indices) {
    std::uint64_t mixed = 1;
    const auto mix = [&](std::uint64_t value) {
        mixed = (mixed + value) * 0x9e3779b97f4a7c15u;
        mixed ^= mixed >> 32;
    };
    for (const char c : table) mix(static_cast<std::uint64_t>(c));
    for (const std::int64_t index : indices) mix(static_cast<std::uint64_t>(index));
    const auto drawn = static_cast<std::int64_t>((mixed * 0x9e3779b97f4a7c15u >> 33) % 24);
    if (table.starts_with("ints")) return static_cast<double>(drawn - 6);
    const double number = static_cast<double>(2 * drawn - 23) / 8;
    if (table.starts_with("reals") || drawn >= 12) return number;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return drawn < 3 ? infinity : drawn < 6 ? -infinity : std::numeric_limits<double>::quiet_NaN();
}

tree::tree(any_value literal)
    : rule_([](const tree &of, const pair_place &) { return of.literal(); }), literal_(literal) {}

tree::tree(const std::string &name, std::vector<tree> operands)
    : rule_(rule_of(name)), literal_(false), operands_(std::move(operands)) {}

tree parsed(std::string_view text) { return parser(text).all(); }

}  // namespace heed::tests
