// SPDX-License-Identifier: MIT
//
// The masks that have names, and conditions of a user's own.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

using namespace heed::tests;

namespace {

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

}  // namespace

TEST_CASE("causal: no later key") {
    for (const lengths &sizes : around_tile_edges(kernels::dim_1.description())) {
        verify(kernels::dim_1, sizes, {.attends = causal});
    }
}

TEST_CASE("sliding_window(w): the w most recent keys, the current one included") {
    for (const lengths &sizes : around_tile_edges(kernels::window.description())) {
        verify(kernels::window, sizes, {.attends = [](const pair &at) { return causal(at) && in_window(at, 20); }});
    }
}

TEST_CASE("sliding_window(w): the last row averages the last w values if all scores are equal") {
    problem ones(kernels::window.description(), {64, 300, 1});
    for_each_index<4>(ones.query.extents(), [&](const auto &index) { ones.query[index] = 0; });
    for_each_index<4>(ones.value.extents(),
                      [&](const auto &index) { ones.value[index] = static_cast<float>(index[2]); });
    for (const kernel_choice &which : kernels_of(kernels::window.description())) {
        const results got = run(kernels::window, ones, {}, which, 1);
        CHECK(got.output(0, 0, 63, 0) == doctest::Approx((280 + 299) / 2.0));
        CHECK(got.log_sum_exp(0, 0, 63) == doctest::Approx(std::log(20.0)));
    }
}

TEST_CASE("first_tokens(n): the first n keys stay visible") {
    const semantics meaning{.attends = [](const pair &at) { return causal(at) && (in_window(at, 20) || at.kv < 3); }};
    for (const lengths &sizes : around_tile_edges(kernels::window_first.description())) {
        verify(kernels::window_first, sizes, meaning);
    }
    verify(kernels::window_first, {40, 1000, 1}, meaning);
}

TEST_CASE("many tiles") {
    verify(kernels::dim_1, {500, 1500, 1}, {.attends = causal});
    verify(kernels::window, {700, 1500, 1},
           {.attends = [](const pair &at) { return causal(at) && in_window(at, 20); }});
    verify(kernels::holes, {130, 2000, 1}, {.attends = [](const pair &at) { return at.kv % 7 != 3; }});
}

TEST_CASE("a hole in every seven keys") {
    for (const lengths &sizes : around_tile_edges(kernels::holes.description())) {
        verify(kernels::holes, sizes, {.attends = [](const pair &at) { return at.kv % 7 != 3; }});
    }
}

TEST_CASE("blocks on the diagonal, from negative positions on, or a disjunction under '!'") {
    const semantics meaning{.attends = [](const pair &at) {
        const bool same_block = floor_divide(at.q, 16) == floor_divide(at.kv, 16);
        return same_block || at.kv == 5 || at.kv + at.q < 9;
    }};
    for (const lengths &sizes : around_tile_edges(kernels::blocks.description())) {
        verify(kernels::blocks, sizes, meaning);
    }
}

TEST_CASE("a mask that differs from head to head of one tile") {
    const semantics meaning{.attends = [](const pair &at) { return at.head % 2 == 0 ? causal(at) : at.q <= at.kv; }};
    for (const lengths &sizes : around_tile_edges(kernels::by_head.description())) {
        verify(kernels::by_head, sizes, meaning);
    }
}

TEST_CASE("no earlier key") {
    for (const lengths &sizes : around_tile_edges(kernels::later.description())) {
        verify(
            kernels::later, sizes,
            {.attends = [](const pair &at) { return at.kv >= at.q; }, .query_start = [](std::int64_t) { return 0; }});
    }
}
