// SPDX-License-Identifier: MIT
#include "flex_functions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

namespace heed::runner {

namespace {

enum class number_kind { whole, real, condition };

// A translated part: Python that needs no parentheses around it.
struct translated {
    std::string python;
    number_kind kind;
};

struct token {
    enum class type { name, number, text, symbol, end };
    type what;
    std::string spelling;
};

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<token> tokens_of(const std::string &text) {
    std::vector<token> result;
    std::size_t at = 0;
    const auto peek = [&](std::size_t ahead) { return at + ahead < text.size() ? text[at + ahead] : '\0'; };
    const auto take = [&](token::type what, std::size_t length) {
        result.push_back({what, text.substr(at, length)});
        at += length;
    };
    while (at < text.size()) {
        std::size_t length = 0;
        if (peek(0) == ' ') {
            ++at;
        } else if (starts_name(peek(0))) {
            while (starts_name(peek(length)) || is_digit(peek(length))) ++length;
            take(token::type::name, length);
        } else if (is_digit(peek(0))) {
            while (is_digit(peek(length)) || peek(length) == '.') ++length;
            if (peek(length) == 'e') {
                length += peek(length + 1) == '-' || peek(length + 1) == '+' ? 2 : 1;
                while (is_digit(peek(length))) ++length;
            }
            take(token::type::number, length);
        } else if (peek(0) == '"') {
            length = text.find('"', at + 1);
            if (length == std::string::npos) throw std::invalid_argument("a name of an input has no end: " + text);
            take(token::type::text, length - at + 1);
        } else {
            const std::string two = text.substr(at, 2);
            static const std::set<std::string> long_symbols{"&&", "||", "==", "!=", "<=", ">="};
            take(token::type::symbol, long_symbols.count(two) > 0 ? 2 : 1);
        }
    }
    result.push_back({token::type::end, "the end"});
    return result;
}

// Recursive descent, with the precedence of C++.
class translator {
  public:
    explicit translator(const std::string &text) : text_(text), tokens_(tokens_of(text)) {}

    translated translate() {
        translated result = disjunction();
        if (current().what != token::type::end) unexpected();
        return result;
    }

    const std::set<std::string> &names() const { return names_; }
    const std::set<std::string> &inputs() const { return inputs_; }

  private:
    const token &current() const { return tokens_[at_]; }
    bool is(const std::string &symbol) const {
        return current().what == token::type::symbol && current().spelling == symbol;
    }
    bool accept(const std::string &symbol) {
        if (!is(symbol)) return false;
        ++at_;
        return true;
    }
    void expect(const std::string &symbol) {
        if (!accept(symbol)) unexpected();
    }
    [[noreturn]] void unexpected() const {
        throw std::invalid_argument(fmt::format("'{}' is not understood in '{}'", current().spelling, text_));
    }

    using level = translated (translator::*)();
    using combine = translated (*)(const std::string &, const translated &, const translated &);

    translated left_to_right(std::initializer_list<const char *> symbols, level operand, combine with) {
        translated result = (this->*operand)();
        while (true) {
            const auto found = std::find_if(symbols.begin(), symbols.end(), [&](const char *s) { return is(s); });
            if (found == symbols.end()) return result;
            ++at_;
            result = with(*found, result, (this->*operand)());
        }
    }

    static number_kind common_kind(const translated &a, const translated &b) {
        return a.kind == number_kind::real || b.kind == number_kind::real ? number_kind::real : a.kind;
    }
    static translated both(const std::string &symbol, const translated &a, const translated &b, number_kind kind) {
        return {fmt::format("({} {} {})", a.python, symbol, b.python), kind};
    }
    // Python's 'and' and 'or' do not take tensors.
    static translated logic(const std::string &symbol, const translated &a, const translated &b) {
        return both(symbol.substr(1), a, b, number_kind::condition);
    }
    static translated comparison(const std::string &symbol, const translated &a, const translated &b) {
        return both(symbol, a, b, number_kind::condition);
    }
    static translated arithmetic(const std::string &symbol, const translated &a, const translated &b) {
        const number_kind kind = common_kind(a, b);
        if (kind == number_kind::whole && (symbol == "/" || symbol == "%"))
            return {fmt::format("{}({}, {})", symbol == "/" ? "divide_down" : "modulo", a.python, b.python), kind};
        return both(symbol, a, b, kind);
    }

    translated disjunction() { return left_to_right({"||"}, &translator::conjunction, logic); }
    translated conjunction() { return left_to_right({"&&"}, &translator::equality, logic); }
    translated equality() { return left_to_right({"==", "!="}, &translator::relation, comparison); }
    translated relation() { return left_to_right({"<", "<=", ">", ">="}, &translator::sum, comparison); }
    translated sum() { return left_to_right({"+", "-"}, &translator::product, arithmetic); }
    translated product() { return left_to_right({"*", "/", "%"}, &translator::prefix, arithmetic); }

    translated prefix() {
        if (accept("!")) return {fmt::format("negation({})", prefix().python), number_kind::condition};
        if (!accept("-")) return primary();
        const translated operand = prefix();
        return {fmt::format("(-{})", operand.python), operand.kind};
    }

    translated primary() {
        if (accept("(")) {
            translated inner = disjunction();
            expect(")");
            return inner;
        }
        const token taken = current();
        if (taken.what == token::type::number) {
            ++at_;
            const bool whole = taken.spelling.find_first_of(".e") == std::string::npos;
            return {taken.spelling, whole ? number_kind::whole : number_kind::real};
        }
        if (taken.what != token::type::name) unexpected();
        ++at_;
        if (taken.spelling == "input") return lookup();
        if (is("(")) return call(taken.spelling);
        static const std::map<std::string, translated> words{
            {"true", {"True", number_kind::condition}}, {"false", {"False", number_kind::condition}},
            {"inf", {"math.inf", number_kind::real}},   {"nan", {"math.nan", number_kind::real}},
            {"score", {"score", number_kind::real}},    {"q_pos", {"q_pos", number_kind::whole}},
            {"kv_pos", {"kv_idx", number_kind::whole}}, {"head", {"h", number_kind::whole}},
            {"batch", {"b", number_kind::whole}},       {"q_len", {"q_len", number_kind::whole}},
            {"kv_len", {"kv_len", number_kind::whole}}};
        const auto word = words.find(taken.spelling);
        if (word == words.end()) {
            --at_;
            unexpected();
        }
        names_.insert(taken.spelling);
        return word->second;
    }

    std::vector<translated> list_until(const std::string &closing) {
        std::vector<translated> result;
        if (accept(closing)) return result;
        do result.push_back(disjunction());
        while (accept(","));
        expect(closing);
        return result;
    }

    // input<"name">[i], input<"name", i32>(i, j), input<"name">().
    translated lookup() {
        expect("<");
        if (current().what != token::type::text) unexpected();
        const std::string name = current().spelling.substr(1, current().spelling.size() - 2);
        ++at_;
        number_kind kind = number_kind::real;
        if (accept(",")) {
            if (current().spelling == "i32") kind = number_kind::whole;
            ++at_;
        }
        expect(">");
        inputs_.insert(name);
        const bool vector = is("[");
        expect(vector ? "[" : "(");
        std::string indices;
        for (const translated &index : list_until(vector ? "]" : ")"))
            indices += (indices.empty() ? "" : ", ") + index.python;
        return {indices.empty() ? "input_" + name : fmt::format("input_{}[{}]", name, indices), kind};
    }

    translated call(const std::string &function) {
        static const std::set<std::string> of_reals{"exp", "log", "sqrt", "tanh", "floor"};
        static const std::map<std::string, std::size_t> of_any{{"abs", 1}, {"min", 2}, {"max", 2}, {"select", 3}};
        const auto found = of_any.find(function);
        const bool real = of_reals.count(function) > 0;
        if (!real && found == of_any.end()) unexpected_function(function);
        expect("(");
        const std::vector<translated> operands = list_until(")");
        if (operands.size() != (real ? 1 : found->second)) unexpected_function(function);
        std::vector<std::string> python;
        python.reserve(operands.size());
        for (const translated &operand : operands) python.push_back(operand.python);
        const translated &first = operands[operands.size() == 3 ? 1 : 0];
        return {fmt::format("{}_of({})", function, fmt::join(python, ", ")),
                real ? number_kind::real : common_kind(first, operands.back())};
    }

    [[noreturn]] void unexpected_function(const std::string &function) const {
        throw std::invalid_argument(fmt::format("'{}' is not understood in '{}'", function, text_));
    }

    std::string text_;
    std::vector<token> tokens_;
    std::size_t at_ = 0;
    std::set<std::string> names_, inputs_;
};

std::map<std::string, std::string> expressions_of(const std::string &formula) {
    std::map<std::string, std::string> result;
    std::istringstream lines(formula);
    std::string line;
    std::getline(lines, line);  // the sizes
    while (std::getline(lines, line)) {
        const std::size_t equals = line.find(" = ");
        if (equals == std::string::npos) throw std::invalid_argument("'" + line + "' is not understood");
        result[line.substr(0, equals)] = line.substr(equals + 3);
    }
    return result;
}

}  // namespace

flex_functions translate_for_flex(const std::string &formula) {
    auto expressions = expressions_of(formula);
    if (expressions.count("sink_logit") > 0)
        throw std::invalid_argument("on CPUs it returns no log_sum_exp, with which a sink could be added");
    flex_functions result;
    std::set<std::string> inputs;
    // Without a query_start of its own a variant aligns the last query with the last key.
    std::string query_start = "(kv_len - q_len)";
    bool start_reads_batch = false;
    if (expressions.count("query_start") > 0) {
        translator start(expressions["query_start"]);
        query_start = start.translate().python;
        start_reads_batch = start.names().count("batch") > 0;
        inputs = start.inputs();
    }
    std::string functions;
    const auto add = [&](const char *name, const char *parameters, translator &from, const char *wrapper) {
        const std::string value = from.translate().python;
        inputs.insert(from.inputs().begin(), from.inputs().end());
        functions += fmt::format("    def {}({}):\n", name, parameters);
        if (from.names().count("q_pos") > 0) functions += fmt::format("        q_pos = q_idx + {}\n", query_start);
        functions += fmt::format("        return {}\n", fmt::format(fmt::runtime(wrapper), value));
    };
    result.has_mask = expressions.count("mask") > 0 && expressions["mask"] != "true";
    if (result.has_mask) {
        translator mask(expressions["mask"]);
        add("mask_mod", "b, h, q_idx, kv_idx", mask, "condition_of({}, kv_idx)");
        result.mask_reads_head = mask.names().count("head") > 0;
        result.mask_reads_batch =
            mask.names().count("batch") > 0 || (start_reads_batch && mask.names().count("q_pos") > 0);
    }
    const bool has_score = expressions.count("score_mod") > 0;
    if (has_score) {
        translator score(expressions["score_mod"]);
        add("score_mod", "score, b, h, q_idx, kv_idx", score, "{}");
    }
    result.source = "def make(inputs, q_len, kv_len):\n";
    for (const std::string &name : inputs) result.source += fmt::format("    input_{0} = inputs[\"{0}\"]\n", name);
    result.source += functions + fmt::format("    return {}, {}\n", result.has_mask ? "mask_mod" : "None",
                                             has_score ? "score_mod" : "None");
    return result;
}

}  // namespace heed::runner
