// SPDX-License-Identifier: MIT
//
// Building this file is the test: the scalar reading inside static_assert.
#include <heed/heed.hpp>

#include <cstdint>
#include <limits>

using namespace heed;

namespace {

constexpr auto everything = variant(heads = 2_c, head_dim = 8_c);
static_assert(attends(everything, {.q = 3, .kv = 7}));
static_assert(attends(everything, {}));
// Keys outside of the sequence are never seen, whatever the mask says.
static_assert(!attends(everything, {.q = 3, .kv = 7, .kv_len = 7}));
static_assert(!attends(everything, {.q = 3, .kv = -1}));
static_assert(!attends(everything, {.q = 0, .kv = 0, .kv_len = 0}));

constexpr auto causal_only = variant(heads = 2_c, head_dim = 8_c, mask = causal);
static_assert(attends(causal_only, {.q = 7, .kv = 7}) && attends(causal_only, {.q = 7, .kv = 0}));
static_assert(!attends(causal_only, {.q = 7, .kv = 8}));
static_assert(!attends(causal_only, {.q = -2, .kv = 0}));

// The window holds `width` keys, the query's own included.
constexpr auto window = variant(heads = 2_c, head_dim = 8_c, mask = causal && sliding_window(3_c));
static_assert(attends(window, {.q = 7, .kv = 5}) && !attends(window, {.q = 7, .kv = 4}));

constexpr auto window_and_first =
    variant(heads = 2_c, head_dim = 8_c, mask = causal && (sliding_window(3_c) || first_tokens(2)));
static_assert(attends(window_and_first, {.q = 9, .kv = 1}) && !attends(window_and_first, {.q = 9, .kv = 2}));

// Whole numbers divide and take remainders downwards, also below 0; by 0 the result is 0.
constexpr auto quotient = [](std::int64_t a, std::int64_t b) {
    return evaluate(q_pos / kv_pos, environment_of({.q = a, .kv = b}));
};
constexpr auto remainder = [](std::int64_t a, std::int64_t b) {
    return evaluate(q_pos % kv_pos, environment_of({.q = a, .kv = b}));
};
static_assert(quotient(7, 2) == 3 && quotient(-7, 2) == -4 && quotient(7, -2) == -4 && quotient(-7, -2) == 3);
static_assert(quotient(6, 2) == 3 && quotient(-6, 2) == -3 && quotient(7, 0) == 0 && quotient(0, 5) == 0);
static_assert(remainder(7, 3) == 1 && remainder(-7, 3) == 2 && remainder(7, -3) == -2 && remainder(-7, -3) == -1);
static_assert(remainder(6, 3) == 0 && remainder(-6, 3) == 0 && remainder(7, 0) == 0);

// NaN stays NaN on either side of min and max.
constexpr bool is_nan(double value) { return value != value; }
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
static_assert(is_nan(evaluate(max(score, 1.0), environment_of({}, not_a_number))) &&
              is_nan(evaluate(max(1.0, score), environment_of({}, not_a_number))) &&
              is_nan(evaluate(min(score, 1.0), environment_of({}, not_a_number))) &&
              is_nan(evaluate(min(1.0, score), environment_of({}, not_a_number))));

// Arithmetic
constexpr auto value = [](auto expression) {
    return evaluate(expression, environment_of({.q = 7, .kv = 3, .head = 1, .batch = 2, .q_len = 5, .kv_len = 9}, 0.5));
};
static_assert(value(score * 2 + q_pos) == 8.0 && value(q_pos / 2) == 3 && value(q_pos / 2.0) == 3.5);
static_assert(value(head) == 1 && value(batch) == 2 && value(q_len) == 5 && value(kv_len) == 9);
static_assert(value(min(q_pos, kv_pos)) == 3 && value(max(score, kv_pos)) == 3.0 && value(abs(kv_pos - q_pos)) == 4);
static_assert(value(-q_pos) == -7 && value(-(score)) == -0.5);
static_assert(value(floor(score)) == 0.0 && value(floor(-score)) == -1.0 && value(floor(score * 4)) == 2.0);
static_assert(value(floor(score * 1e300)) == 0.5e300);
static_assert(value(select(q_pos > kv_pos, 1, 2)) == 1 && value(select(q_pos < kv_pos, 1, 2.5)) == 2.5);
static_assert(value(select(causal, q_pos == 7, kv_pos == 7)));
static_assert(value(q_pos != kv_pos && !(q_pos == kv_pos) && q_pos >= kv_pos && kv_pos <= q_pos && kv_pos < q_pos &&
                    q_pos > kv_pos));
static_assert(!value(q_pos < kv_pos || q_pos <= kv_pos));

// Inputs come from a function; its number is taken as the declared type.
constexpr auto read = [](auto input, auto... index) {
    static_assert(sizeof...(index) <= 2);
    return input.name() == "kv_len" ? 4.0 : 0.25 + (0 + ... + static_cast<double>(index));
};
constexpr auto padded_only = variant(heads = 2_c, head_dim = 8_c, mask = padded);
static_assert(attends(padded_only, {.q = 0, .kv = 3, .kv_len = 9}, read));
static_assert(!attends(padded_only, {.q = 0, .kv = 4, .kv_len = 9}, read));

constexpr auto biased =
    variant(heads = 2_c, head_dim = 8_c, score_mod = score * 2 + input<"bias">(head, kv_pos) + input<"shift">());
static_assert(modified_score(biased, {.q = 7, .kv = 3, .head = 1}, 1.0, read) == 2.0 + 4.25 + 0.25);
static_assert(modified_score(everything, {.q = 7, .kv = 3}, 1.5) == 1.5);

constexpr auto whole = variant(heads = 2_c, head_dim = 8_c, score_mod = score * 0.0 + input<"table", i32>[kv_pos]);
static_assert(modified_score(whole, {.q = 7, .kv = 3}, 1.0, read) == 3.0);

}  // namespace
