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

TEST_CASE("rows print as they are written") {
    CHECK_PRINTS_AS_WRITTEN(query * input<"gain">(head, dim) + key[dim + 1]);
    CHECK_PRINTS_AS_WRITTEN(query / sqrt(mean_over_dims(query * query) + 1e-06));
    CHECK_PRINTS_AS_WRITTEN(select(dim < 2, -output[3 - dim], value[dim % 4]) * q_row + group);
    CHECK_PRINTS_AS_WRITTEN(cos(score) - sin(score * 2.0));
    // The row's element at dim is the row.
    CHECK(formula(query[dim]) == "query");
}

TEST_CASE("what is computed once for each position prints as if it were not") {
    CHECK(formula(tabulate<4>(cos(input<"angles">(kv_pos, dim)), dim % 4)) ==
          "cos(input<\"angles\">(kv_pos, dim % 4))");
    CHECK(formula(tabulate<4>(sin(score * dim), dim + 1)) == "sin(score * (dim + 1))");
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
    CHECK(formula(score * -500'000) == "score * -500000.0");
    CHECK(formula(score * 1e-6) == "score * 1e-06");
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

TEST_CASE("a variant prints its modifications, positions and weights") {
    CHECK(formula(variant(heads = 8_c, head_dim = 64_c, position = rope{}, query_mod = query * 2.0, key_mod = key + 1.0,
                          value_mod = -value, output_mod = output * input<"gate">(batch, head, q_row, dim),
                          weights = softmax1, weight_factor = select(kv_pos < 3, 0.0, 1.0))) ==
          "heads = 8, groups = 8, head_dim = 64, scale = 0.125\n"
          "mask = true\n"
          "position = rope{10000.0, .layout = half_split}\n"
          "query_mod = query * 2.0\n"
          "key_mod = key + 1.0\n"
          "value_mod = -value\n"
          "output_mod = output * input<\"gate\">(batch, head, q_row, dim)\n"
          "weights = softmax1\n"
          "weight_factor = select(kv_pos < 3, 0.0, 1.0)");
    const auto weights_text = [](const auto &declared) {
        const std::string text = formula(declared);
        return text.substr(text.find("weights = "));
    };
    CHECK(weights_text(variant(heads = 8_c, head_dim = 64_c, weights = softmax)) == "weights = softmax");
    CHECK(weights_text(variant(heads = 8_c, head_dim = 64_c, weights = relu_squared)) ==
          "weights = select(score <= 0.0, 0.0, score * score)");
    CHECK(weights_text(variant(heads = 8_c, head_dim = 64_c, weights = sigmoid)) ==
          "weights = select(score >= 0.0, 1.0, exp(-abs(score))) / (exp(-abs(score)) + 1.0)");
}

TEST_CASE("schemes of positions print as they are written") {
    const auto position_text = [](const auto &scheme) {
        const std::string text = formula(variant(heads = 8_c, head_dim = 64_c, position = scheme));
        return text.substr(text.find("position = ") + 11);
    };
    CHECK(position_text(rope{.theta = 500'000.0, .layout = interleaved, .dims = 32}) ==
          "rope{500000.0, .layout = interleaved, .dims = 32}");
    CHECK(position_text(rope{.scaling = linear_scaling(4)}) ==
          "rope{10000.0, .layout = half_split, .scaling = linear_scaling(4.0)}");
    CHECK(position_text(rope{.scaling = ntk_scaling(2)}) ==
          "rope{10000.0, .layout = half_split, .scaling = ntk_scaling(2.0)}");
    CHECK(position_text(rope{.scaling = yarn_scaling(16, 4096)}) ==
          "rope{10000.0, .layout = half_split, .scaling = yarn_scaling(16.0, 4096.0, 32.0, 1.0)}");
    CHECK(position_text(rope{.scaling = llama3_scaling()}) ==
          "rope{10000.0, .layout = half_split, .scaling = llama3_scaling(8.0, 1.0, 4.0, 8192.0)}");
    CHECK(position_text(rope_angles(input<"angles">, interleaved)) == "rope_angles(input<\"angles\">, interleaved)");
}
