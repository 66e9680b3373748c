// SPDX-License-Identifier: MIT
//
// Where the first query stands: aligned with the last key, with the first one, or as an input says. Negative positions
// included.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

using namespace heed::tests;

TEST_CASE("by default the last query stands at the last key") {
    problem of(kernels::dim_40.description(), {3, 50, 1});
    verify(kernels::dim_40, of,
           {.attends = [](const pair &at) { return at.kv <= at.q; }, .query_start = [](std::int64_t) { return 47; }});
}

TEST_CASE("queries before the first key see nothing") {
    problem of(kernels::dim_40.description(), {50, 3, 2});
    verify(kernels::dim_40, of, {.attends = causal, .query_start = [](std::int64_t) { return -47; }});
    for (const kernel_choice &which : kernels_of(kernels::dim_40.description())) {
        const results got = run(kernels::dim_40, of, {}, which, 1);
        CHECK(got.output(1, 6, 46, 0) == 0.0f);
        CHECK(got.log_sum_exp(1, 6, 46) == -INFINITY);
        CHECK(got.output(1, 6, 47, 0) != 0.0f);
    }
}

TEST_CASE("align = top_left: the first query stands at the first key") {
    const semantics meaning{.attends = causal,
                            .modify = [](double score, const pair &) { return soft_cap(score, 2); },
                            .query_start = [](std::int64_t) { return 0; }};
    for (const lengths &sizes : around_tile_edges(kernels::capped.description())) {
        verify(kernels::capped, sizes, meaning);
    }
}

TEST_CASE("query_start from an input: sequences of different lengths in one batch") {
    const std::vector<std::int32_t> lengths_of{0, 1, 50, 127, 128, 129, 200, 1000};
    const std::vector<std::int32_t> starts{0, -3, -70, 126, 300, 1, 100, 199};
    for (const std::int64_t q_len : {1, 48, 65, 150}) {
        const auto length_table = table(lengths_of), start_table = table(starts);
        const semantics meaning{
            .attends =
                [&](const pair &at) { return causal(at) && at.kv < lengths_of[static_cast<std::size_t>(at.batch)]; },
            .query_start = [&](std::int64_t batch) { return starts[static_cast<std::size_t>(batch)]; }};
        verify(kernels::ragged, lengths{q_len, 200, 8}, {length_table.view(), start_table.view()}, meaning);
    }
}

TEST_CASE("lengths and starts at the ends of their type") {
    constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();
    constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
    const std::vector<std::int32_t> lengths_of{largest, largest - 1, lowest, -1, 2000000000, largest};
    const std::vector<std::int32_t> starts{0, 150, 0, 0, 2000000000, -2000000000};
    const auto length_table = table(lengths_of), start_table = table(starts);
    const semantics meaning{
        .attends = [&](const pair &at) { return causal(at) && at.kv < lengths_of[static_cast<std::size_t>(at.batch)]; },
        .query_start = [&](std::int64_t batch) { return starts[static_cast<std::size_t>(batch)]; }};
    verify(kernels::ragged, lengths{100, 300, 6}, {length_table.view(), start_table.view()}, meaning);
}

TEST_CASE("sequences of length 0 at any place of a batch") {
    for (int empty = 0; empty < 16; ++empty) {
        CAPTURE(empty);
        std::vector<std::int32_t> lengths_of, starts;
        for (int batch = 0; batch < 4; ++batch) {
            lengths_of.push_back((empty >> batch & 1) != 0 ? 0 : 70 + batch);
            starts.push_back(lengths_of.back() - 20);
        }
        const auto length_table = table(lengths_of), start_table = table(starts);
        problem of(kernels::ragged.description(), {20, 150, 4});
        for_each_index<4>(of.key.extents(), [&](const auto &at) {
            if (at[2] >= lengths_of[static_cast<std::size_t>(at[0])]) of.key[at] = of.value[at] = not_a_number;
        });
        verify(
            kernels::ragged, of, {length_table.view(), start_table.view()},
            {.attends =
                 [&](const pair &at) { return causal(at) && at.kv < lengths_of[static_cast<std::size_t>(at.batch)]; },
             .query_start = [&](std::int64_t batch) { return starts[static_cast<std::size_t>(batch)]; }});
        for (std::size_t batch = 0; batch < 4; ++batch) {
            if (lengths_of[batch] != 0) continue;
            const results got = run(kernels::ragged, of, {length_table.view(), start_table.view()},
                                    kernels_of(kernels::ragged.description()).front(), 2);
            CHECK(got.output(batch, 1, 19, 3) == 0.0f);
            CHECK(got.log_sum_exp(batch, 1, 19) == -INFINITY);
        }
    }
}
