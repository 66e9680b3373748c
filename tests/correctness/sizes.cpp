// SPDX-License-Identifier: MIT
//
// Sizes of heads and groups, and lengths of sequences.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <cmath>

using namespace heed::tests;

TEST_CASE("lengths around every edge of a tile") {
    for (const lengths &sizes : around_tile_edges(kernels::dense.description())) verify(kernels::dense, sizes);
}

TEST_CASE("head_dim 1, value_dim 3, 5 heads of one group") {
    for (const lengths &sizes : {lengths{70, 70}, {3, 300}, {200, 129}}) {
        verify(kernels::dim_1, sizes, {.attends = causal});
    }
}

TEST_CASE("head_dim 31, value_dim 40, 6 heads to a group") {
    for (const lengths &sizes : around_tile_edges(kernels::dim_31.description())) verify(kernels::dim_31, sizes);
}

TEST_CASE("head_dim 40, value_dim 31, 7 heads of one group") {
    for (const lengths &sizes : around_tile_edges(kernels::dim_40.description())) {
        verify(kernels::dim_40, sizes, {.attends = causal});
    }
}

TEST_CASE("head_dim 96, value_dim 1, 8 heads to a group, a scale of one's own") {
    for (const lengths &sizes : around_tile_edges(kernels::dim_96.description())) {
        verify(kernels::dim_96, sizes, {.scale = 0.25});
    }
}

TEST_CASE("query head h uses group h / (heads / groups)") {
    problem of(kernels::dim_31.description(), {5, 9, 1});
    for_each_index<4>(of.value.extents(), [&](const auto &index) {
        of.value[index] = static_cast<float>(index[1]);  // the group
    });
    for (const kernel_choice &which : kernels_of(kernels::dim_31.description())) {
        const results got = run(kernels::dim_31, of, {}, which, 1);
        for (std::int64_t head = 0; head < 12; ++head) {
            CHECK(got.output(0, head, 4, 7) == doctest::Approx(head < 6 ? 0.0 : 1.0));
        }
    }
}

TEST_CASE("an empty batch, no queries, no keys") {
    verify(kernels::dense, {10, 10, 0});
    verify(kernels::dense, {0, 10});
    verify(kernels::dense, {0, 0});
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const problem without_keys(kernels::dense.description(), {70, 0});
        const results got = run(kernels::dense, without_keys, {}, which, 2);
        for_each_index<4>(got.output.extents(), [&](const auto &index) { CHECK(got.output[index] == 0.0f); });
        for_each_index<3>(got.log_sum_exp.extents(),
                          [&](const auto &index) { CHECK(got.log_sum_exp[index] == -INFINITY); });
    }
}

TEST_CASE("log_sum_exp is the natural logarithm, and optional") {
    problem of(kernels::dense.description(), {3, 1, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &index) { of.query[index] = 1; });
    for_each_index<4>(of.key.extents(), [&](const auto &index) { of.key[index] = 2; });
    const float score = 16 / std::sqrt(8.0f);
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const results got = run(kernels::dense, of, {}, which, 1);
        CHECK(got.log_sum_exp(0, 1, 2) == doctest::Approx(score));
        results without(of);
        kernels::dense(of.query.view(), of.key.view(), of.value.view(), without.output.view(),
                       {{}, 1, which.isa, which.schedule});
        CHECK(same_bits(without.output, got.output));
    }
}
