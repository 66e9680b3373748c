// SPDX-License-Identifier: MIT
//
// The scalar reading of modifications of rows.
#include <heed/heed.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace heed;

namespace {

using row = std::vector<double>;

void check_close(const row &is, const row &should_be) {
    REQUIRE(is.size() == should_be.size());
    for (std::size_t i = 0; i < is.size(); ++i) CHECK(is[i] == doctest::Approx(should_be[i]).epsilon(1e-12));
}

}  // namespace

TEST_CASE("a row without modifications stays") {
    constexpr auto plain = variant(heads = 2_c, head_dim = 3_c);
    check_close(modified_row(plain.query_stages(), {}, {1, 2, 3}), {1, 2, 3});
    check_close(modified_row(plain.output_stages(), {}, {1, 2, 3}), {1, 2, 3});
}

TEST_CASE("elements, other elements and means of a row") {
    constexpr auto changed =
        variant(heads = 2_c, head_dim = 4_c, query_mod = query[3 - dim] + dim, key_mod = key - mean_over_dims(key),
                value_mod = value[dim + 2], output_mod = output * mean_over_dims(output * dim));
    check_close(modified_row(changed.query_stages(), {}, {1, 2, 3, 4}), {4, 4, 4, 4});
    check_close(modified_row(changed.key_stages(), {}, {1, 2, 3, 6}), {-2, -1, 0, 3});
    // What lies behind the row is its last element.
    check_close(modified_row(changed.value_stages(), {}, {1, 2, 3, 4}), {3, 4, 4, 4});
    check_close(modified_row(changed.output_stages(), {}, {1, 2, 0, 2}), {2, 4, 0, 4});
}

TEST_CASE("the place of a row, and inputs") {
    constexpr auto placed =
        variant(heads = 4_c, groups = 2_c, head_dim = 2_c, query_mod = query + (head * 1000 + q_pos * 10 + q_row),
                key_mod = key + (group * 1000 + kv_pos * 10 + batch),
                output_mod = output * input<"gate">(batch, head, q_row, dim));
    check_close(modified_row(placed.query_stages(), {.head = 3, .q_pos = 7, .q_row = 2}, {0.5, 1}), {3072.5, 3073});
    check_close(modified_row(placed.key_stages(), {.batch = 5, .group = 1, .kv_pos = 7}, {0, 1}), {1075, 1076});
    const auto read = [](auto input, auto... indices) {
        CHECK(input.name() == "gate");
        double number = 0;
        ((number = 10 * number + static_cast<double>(indices)), ...);
        return number;
    };
    check_close(modified_row(placed.output_stages(), {.batch = 1, .head = 2, .q_row = 3}, {1, 2}, read),
                {1230, 2 * 1231});
}

TEST_CASE("rope comes after query_mod, and turns pairs") {
    constexpr auto turned =
        variant(heads = 1_c, head_dim = 4_c, position = rope{.theta = 100.0}, query_mod = query * 2.0);
    const double fast = 3, slow = 0.3;  // angles at position 3: 100^0 and 100^(-1/2)
    check_close(modified_row(turned.query_stages(), {.q_pos = 3}, {1, 0, 0, 1}),
                {2 * std::cos(fast), -2 * std::sin(slow), 2 * std::sin(fast), 2 * std::cos(slow)});
    check_close(modified_row(turned.key_stages(), {.kv_pos = 3}, {1, 0, 0, 1}),
                {std::cos(fast), -std::sin(slow), std::sin(fast), std::cos(slow)});
    constexpr auto neighbours =
        variant(heads = 1_c, head_dim = 5_c, position = rope{.theta = 100.0, .layout = interleaved, .dims = 4});
    check_close(modified_row(neighbours.query_stages(), {.q_pos = 3}, {1, 0, 0, 1, 7}),
                {std::cos(fast), std::sin(fast), -std::sin(slow), std::cos(slow), 7});
}

TEST_CASE("norms") {
    constexpr auto rms = variant(heads = 1_c, head_dim = 2_c, query_mod = rms_norm(query, 0.0));
    check_close(modified_row(rms.query_stages(), {}, {3, 4}), {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
    constexpr auto layer = variant(heads = 1_c, head_dim = 2_c, query_mod = layer_norm(query, 0.0));
    check_close(modified_row(layer.query_stages(), {}, {3, 7}), {-1, 1});
    constexpr auto unit = variant(heads = 1_c, head_dim = 2_c, query_mod = unit_norm(query, 2_c, 0.0));
    check_close(modified_row(unit.query_stages(), {}, {3, 4}), {0.6, 0.8});
}

TEST_CASE("weights of scores") {
    constexpr auto sigmoids = variant(heads = 1_c, head_dim = 2_c, weights = sigmoid);
    CHECK(weight_of_score(sigmoids, {}, 0) == 0.5);
    CHECK(weight_of_score(sigmoids, {}, -800) == doctest::Approx(0));
    CHECK(weight_of_score(sigmoids, {}, 800) == 1);
    CHECK(weight_of_score(sigmoids, {}, 1.5) == doctest::Approx(1 / (1 + std::exp(-1.5))));
    constexpr auto relus = variant(heads = 1_c, head_dim = 2_c, weights = relu_squared);
    CHECK(weight_of_score(relus, {}, 3) == 9);
    CHECK(weight_of_score(relus, {}, -3) == 0);
    constexpr auto dropped = variant(heads = 1_c, head_dim = 2_c, weight_factor = dropout(0.5, 3));
    int kept = 0;
    for (std::int64_t key = 0; key < 1000; ++key) {
        const double factor = factor_of_weight(dropped, {.kv = key});
        CHECK((factor == 0 || factor == 2));
        kept += factor != 0 ? 1 : 0;
    }
    CHECK(std::abs(kept - 500) < 80);
}
