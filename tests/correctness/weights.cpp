// SPDX-License-Identifier: MIT
//
// Weights that are no softmax: a formula of each score for itself, and the softmax with 1 in its denominator.
#include <verify.hpp>

#include "heed_hook_kernels.hpp"

#include <cmath>

using namespace heed::tests;

namespace {

double sigmoid(double score, const pair &) { return 1 / (1 + std::exp(-score)); }

double squared_relu(double score, const pair &) { return score > 0 ? score * score : 0; }

}  // namespace

TEST_CASE("sigmoid: every key weighs for itself, nothing is divided") {
    for (const lengths &sizes : around_tile_edges(kernels::sigmoids.description())) {
        verify(kernels::sigmoids, sizes, {.attends = causal, .weight = sigmoid});
    }
    // All scores 0: half of the sum of the values seen.
    problem of(kernels::sigmoids.description(), {70, 70, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = 0; });
    for_each_index<4>(of.value.extents(), [&](const auto &at) { of.value[at] = 1; });
    for (const kernel_choice &which : kernels_of(kernels::sigmoids.description())) {
        CHECK(run(kernels::sigmoids, of, {}, which, 1).output(0, 1, 41, 3) == doctest::Approx(21));
    }
}

TEST_CASE("sigmoid of scores minus the logarithm of kv_len") {
    for (const lengths &sizes : {lengths{1, 1}, {65, 130}, {130, 257}, {257, 20}}) {
        verify(
            kernels::sigmoids_shifted, sizes,
            {.modify = [&](double score, const pair &) { return score - std::log(static_cast<double>(sizes.kv_len)); },
             .weight = sigmoid});
    }
}

TEST_CASE("sigmoid of scores far from 0") {
    for (const double peak : {30.0, 1e3, 1e6}) {
        CAPTURE(peak);
        verify(kernels::sigmoids, problem(kernels::sigmoids.description(), {70, 150}, peak),
               {.attends = causal, .weight = sigmoid});
    }
}

TEST_CASE("relu_squared: scores below 0 weigh nothing") {
    for (const lengths &sizes : around_tile_edges(kernels::squared_relus.description())) {
        verify(kernels::squared_relus, sizes,
               {.attends = [](const pair &at) { return causal(at) && in_window(at, 20); }, .weight = squared_relu});
    }
}

TEST_CASE("softmax1: 1 is added to the denominator, once") {
    for (const lengths &sizes : around_tile_edges(kernels::off_by_one.description())) {
        verify(kernels::off_by_one, sizes, {.attends = causal, .softmax1 = true});
    }
    for (const double peak : {10.0, 100.0}) {
        verify(kernels::off_by_one, problem(kernels::off_by_one.description(), {100, 300}, peak),
               {.attends = causal, .softmax1 = true});
    }
    problem of(kernels::off_by_one.description(), {1, 1000, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = 0; });
    for_each_index<4>(of.value.extents(), [&](const auto &at) { of.value[at] = 1; });
    for (const kernel_choice &which : kernels_of(kernels::off_by_one.description())) {
        const results got = run(kernels::off_by_one, of, {}, which, 1);
        CHECK(got.output(0, 0, 0, 0) == doctest::Approx(1000.0 / 1001.0));
        CHECK(got.log_sum_exp(0, 0, 0) == doctest::Approx(std::log(1001.0)));
    }
}

TEST_CASE("softmax1: a row of scores far below 0 attends to nothing") {
    problem of(kernels::off_by_one.description(), {70, 150, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = 100; });
    for_each_index<4>(of.key.extents(), [&](const auto &at) { of.key[at] = -100; });
    verify(kernels::off_by_one, of, {.attends = causal, .softmax1 = true});
    for (const kernel_choice &which : kernels_of(kernels::off_by_one.description())) {
        CHECK(std::fabs(run(kernels::off_by_one, of, {}, which, 1).output(0, 1, 69, 3)) < 1e-30f);
    }
}

TEST_CASE("a formula of one's own; masked keys weigh 0, although the formula is 1/2 far below 0") {
    for (const lengths &sizes : around_tile_edges(kernels::own_weights.description())) {
        tensor<float, 2> bias({3, sizes.kv_len});
        filler(40).fill(bias);
        const semantics meaning{
            .attends = [](const pair &at) { return causal(at) && at.kv % 5 != 2; },
            .modify = [&](double score, const pair &at) { return score + double{bias(at.head, at.kv)}; },
            .weight = [](double score, const pair &) { return 1 / (score * score + 1) + 0.5; }};
        problem of(kernels::own_weights.description(), sizes);
        verify(kernels::own_weights, of, {bias.view()}, meaning);
        for_each_index<4>(of.key.extents(), [&](const auto &at) {
            if (at[2] % 5 == 2) of.key[at] = of.value[at] = at[2] % 2 == 0 ? not_a_number : infinity;
        });
        verify(kernels::own_weights, of, {bias.view()}, meaning);
    }
}

TEST_CASE("NaN in a score becomes a NaN of its row, in a value of the rows that see it") {
    problem of(kernels::sigmoids.description(), {70, 150});
    of.query(0, 1, 30, 2) = not_a_number;
    of.key(1, 0, 140, 7) = not_a_number;
    of.value(1, 1, 120, 1) = infinity;
    verify(kernels::sigmoids, of, {.attends = causal, .weight = sigmoid});
    problem relu(kernels::squared_relus.description(), {70, 150});
    relu.query(0, 1, 30, 2) = not_a_number;
    verify(kernels::squared_relus, relu,
           {.attends = [](const pair &at) { return causal(at) && in_window(at, 20); },
            .weight = [](double score,
                         const pair &) { return std::isnan(score) ? score
                                                : score > 0       ? score * score
                                                                  : 0; }});
}

TEST_CASE("rows without keys give 0") {
    const problem of(kernels::sigmoids.description(), {70, 0});
    for (const kernel_choice &which : kernels_of(kernels::sigmoids.description())) {
        const results got = run(kernels::sigmoids, of, {}, which, 2);
        for_each_index<4>(got.output.extents(), [&](const auto &at) { CHECK(got.output[at] == 0.0f); });
    }
}

TEST_CASE("log_sum_exp of a formula is refused, and nothing is written") {
    const problem of(kernels::sigmoids.description(), {5, 5});
    results got(of), fresh(of);
    CHECK_THROWS_AS(kernels::sigmoids(of.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                      {.log_sum_exp = got.log_sum_exp.view()}),
                    heed::invalid_argument_error);
    CHECK(same_bits(got.output, fresh.output));
    CHECK(same_bits(got.log_sum_exp, fresh.log_sum_exp));
}
