// SPDX-License-Identifier: MIT
#include "flex_functions.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using heed::runner::translate_for_flex;

namespace {

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// The Python of a mask.
std::string mask(const std::string &formula) {
    const std::string source = translate_for_flex("heads = 1\nmask = " + formula).source;
    const std::string begin = "condition_of(", end = ", kv_idx)\n";
    const std::size_t from = source.find(begin) + begin.size();
    return source.substr(from, source.rfind(end) - from);
}

std::string score(const std::string &formula) {
    const std::string source = translate_for_flex("heads = 1\nmask = true\nscore_mod = " + formula).source;
    const std::string begin = "return ";
    const std::size_t from = source.find(begin) + begin.size();
    return source.substr(from, source.find('\n', from) - from);
}

}  // namespace

TEST_CASE("a whole variant") {
    const auto functions = translate_for_flex(
        "heads = 8, groups = 8, head_dim = 64, scale = 0.125\n"
        "mask = q_pos >= kv_pos && q_pos - kv_pos < 256\n"
        "score_mod = tanh(score / 50.0) * 50.0");
    CHECK(functions.source ==
          "def make(inputs, q_len, kv_len):\n"
          "    def mask_mod(b, h, q_idx, kv_idx):\n"
          "        q_pos = q_idx + (kv_len - q_len)\n"
          "        return condition_of(((q_pos >= kv_idx) & ((q_pos - kv_idx) < 256)), kv_idx)\n"
          "    def score_mod(score, b, h, q_idx, kv_idx):\n"
          "        return (tanh_of((score / 50.0)) * 50.0)\n"
          "    return mask_mod, score_mod\n");
    CHECK(functions.has_mask);
    CHECK_FALSE(functions.mask_reads_batch);
    CHECK_FALSE(functions.mask_reads_head);
}

TEST_CASE("defaults are left to FlexAttention") {
    const auto functions = translate_for_flex("heads = 8\nmask = true");
    CHECK_FALSE(functions.has_mask);
    CHECK(functions.source == "def make(inputs, q_len, kv_len):\n    return None, None\n");
}

TEST_CASE("precedence is that of C++") {
    CHECK(mask("q_pos < 1 || q_pos < 2 && kv_pos < 3") == "((q_pos < 1) | ((q_pos < 2) & (kv_idx < 3)))");
    CHECK(mask("(q_pos < 1 || q_pos < 2) && kv_pos < 3") == "(((q_pos < 1) | (q_pos < 2)) & (kv_idx < 3))");
    CHECK(mask("!(q_pos == 1) && 1 != kv_pos - 2 - 3") == "(negation((q_pos == 1)) & (1 != ((kv_idx - 2) - 3)))");
    CHECK(mask("q_pos - -kv_pos * 2 > 0") == "((q_pos - ((-kv_idx) * 2)) > 0)");
}

TEST_CASE("whole numbers divide down, real ones do not") {
    CHECK(mask("q_pos / 4 == kv_pos % 4") == "(divide_down(q_pos, 4) == modulo(kv_idx, 4))");
    CHECK(score("score / 4.0 + head / 2") == "((score / 4.0) + divide_down(h, 2))");
    CHECK(score("score * (abs(q_pos) / 2.0)") == "(score * (abs_of(q_pos) / 2.0))");
    CHECK(score("score + min(head, 3) / 2") == "(score + divide_down(min_of(h, 3), 2))");
    CHECK(score("score + max(head, 0.5) / 2") == "(score + (max_of(h, 0.5) / 2))");
    CHECK(score("select(head < 8, head, 8) / 2 + score") == "(divide_down(select_of((h < 8), h, 8), 2) + score)");
    CHECK(score("select(head < 8, 1, 0.5) / 2 + score") == "((select_of((h < 8), 1, 0.5) / 2) + score)");
    CHECK(score("floor(q_pos / 2) / 2") == "(floor_of(divide_down(q_pos, 2)) / 2)");
    CHECK(score("score - exp(log(sqrt(1e-05)) * 2.5e+20)") == "(score - exp_of((log_of(sqrt_of(1e-05)) * 2.5e+20)))");
    CHECK(score("select(head < 2, -inf, score)") == "select_of((h < 2), (-math.inf), score)");
}

TEST_CASE("inputs become variables, and their type decides the division") {
    const auto functions = translate_for_flex(
        "heads = 8\nmask = input<\"document\", i32>(batch, q_pos) / 2 == input<\"document\", i32>(batch, kv_pos)\n"
        "score_mod = score * input<\"heat\">() + input<\"bias\">[head] / 2");
    CHECK(contains(functions.source,
                   "    input_bias = inputs[\"bias\"]\n    input_document = inputs[\"document\"]\n"
                   "    input_heat = inputs[\"heat\"]\n"));
    CHECK(contains(functions.source, "(divide_down(input_document[b, q_pos], 2) == input_document[b, kv_idx])"));
    CHECK(contains(functions.source, "((score * input_heat) + (input_bias[h] / 2))"));
    CHECK(functions.mask_reads_batch);
}

TEST_CASE("a query_start of its own moves the queries") {
    const auto functions =
        translate_for_flex("heads = 8\nmask = q_pos >= kv_pos && head < 4\nquery_start = input<\"start\", i32>[batch]");
    CHECK(contains(functions.source, "        q_pos = q_idx + input_start[b]\n"));
    CHECK(contains(functions.source, "    input_start = inputs[\"start\"]\n"));
    CHECK(functions.mask_reads_batch);
    CHECK(functions.mask_reads_head);
}

TEST_CASE("what cannot be said is refused with its words") {
    CHECK_THROWS_WITH(translate_for_flex("heads = 1\nmask = true\nsink_logit = input<\"sinks\">[head]"),
                      doctest::Contains("returns no log_sum_exp"));
    CHECK_THROWS_WITH(mask("q_pos ^ 2"), "'^' is not understood in 'q_pos ^ 2'");
    CHECK_THROWS_WITH(mask("sin(q_pos) > 0"), "'sin' is not understood in 'sin(q_pos) > 0'");
    CHECK_THROWS_WITH(mask("min(q_pos) > 0"), "'min' is not understood in 'min(q_pos) > 0'");
    CHECK_THROWS_WITH(mask("width < 3"), "'width' is not understood in 'width < 3'");
    CHECK_THROWS_WITH(mask("(q_pos < 3"), "'the end' is not understood in '(q_pos < 3'");
    CHECK_THROWS_WITH(mask("q_pos < 3)"), "')' is not understood in 'q_pos < 3)'");
    CHECK_THROWS_AS(mask("input<\"x"), std::invalid_argument);
}
