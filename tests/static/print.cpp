// SPDX-License-Identifier: MIT
//
// The text reading. Each formula is written here as it must be printed, so it also reads back as the same expression.
#include <heed/heed.hpp>
#include <heed/print.hpp>

#include <doctest/doctest.h>

using namespace heed;

#define CHECK_PRINTS_AS_WRITTEN(...) CHECK(formula(__VA_ARGS__) == #__VA_ARGS__)

TEST_CASE("expressions print as they are written") {
    CHECK_PRINTS_AS_WRITTEN(q_pos >= kv_pos);
    CHECK_PRINTS_AS_WRITTEN(q_pos - kv_pos < 128 && kv_pos != 3);
    CHECK_PRINTS_AS_WRITTEN((q_pos - kv_pos < 128 && head == 1) || kv_pos < 4);
    CHECK_PRINTS_AS_WRITTEN(q_pos >= kv_pos && (q_pos > 3 || kv_pos <= 4));
    CHECK_PRINTS_AS_WRITTEN(!(q_pos < kv_pos) && !(q_pos > 3 && kv_pos > 3));
    CHECK_PRINTS_AS_WRITTEN(batch + q_len * kv_len / 2 % 3 - head);
    CHECK_PRINTS_AS_WRITTEN(tanh(score / 30.0) * 30.0);
    CHECK_PRINTS_AS_WRITTEN(select(q_pos == kv_pos, exp(score), log(sqrt(score)) + floor(score)));
    CHECK_PRINTS_AS_WRITTEN(max(min(q_pos, 3), abs(kv_pos)));
    CHECK_PRINTS_AS_WRITTEN(score + input<"bias">(head, q_pos, kv_pos) * input<"x", i32>[head] + input<"shift">());
}

TEST_CASE("parentheses keep the tree") {
    CHECK_PRINTS_AS_WRITTEN(q_pos - (kv_pos - head));
    CHECK_PRINTS_AS_WRITTEN(q_pos - kv_pos - head);
    CHECK_PRINTS_AS_WRITTEN(q_pos / (kv_pos * head));
    CHECK_PRINTS_AS_WRITTEN((q_pos + kv_pos) * -head);
    CHECK_PRINTS_AS_WRITTEN(-(q_pos + kv_pos));
    CHECK_PRINTS_AS_WRITTEN(-(-q_pos));
    CHECK_PRINTS_AS_WRITTEN(-q_pos - -3);
    CHECK_PRINTS_AS_WRITTEN(score * (score + 1.0));
    CHECK_PRINTS_AS_WRITTEN(q_pos < 3 && (kv_pos < 3 && head < 3));
}

TEST_CASE("numbers keep their kind and every digit") {
    CHECK(formula(score * 30) == "score * 30.0");
    CHECK(formula(score * 0.1) == "score * 0.1");
    CHECK(formula(score * 1e300) == "score * 1e+300");
    CHECK(formula(q_pos < 32_c) == "q_pos < 32");
    CHECK(formula(as_expression(true)) == "true");
}

TEST_CASE("a conversion is not visible") { CHECK(formula(score + (kv_pos - q_pos)) == "score + (kv_pos - q_pos)"); }

TEST_CASE("a variant prints its sizes and what is not the default") {
    CHECK(formula(variant(heads = 8_c, head_dim = 64_c)) ==
          "heads = 8, groups = 8, head_dim = 64, scale = 0.125\n"
          "mask = true");
    CHECK(
        formula(variant(heads = 64_c, groups = 8_c, head_dim = 64_c, value_dim = 32_c, scale = 1,
                        mask = causal && (sliding_window(128_c) || first_tokens(4_c)), score_mod = softcap(score, 30.0),
                        sink_logit = input<"sinks">[head], query_start = input<"start", i32>[batch])) ==
        "heads = 64, groups = 8, head_dim = 64, value_dim = 32, scale = 1.0\n"
        "mask = q_pos >= kv_pos && (q_pos - kv_pos < 128 || kv_pos < 4)\n"
        "score_mod = tanh(score / 30.0) * 30.0\n"
        "sink_logit = input<\"sinks\">[head]\n"
        "query_start = input<\"start\", i32>[batch]");
    CHECK(formula(variant(heads = 8_c, head_dim = 64_c, align = top_left)) ==
          "heads = 8, groups = 8, head_dim = 64, scale = 0.125\n"
          "mask = true\n"
          "query_start = 0");
}
