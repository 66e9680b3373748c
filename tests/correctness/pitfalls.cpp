// SPDX-License-Identifier: MIT
//
// Declarations that the compilers behind the kernels, Halide and LLVM, turned into something else before the lowering
// avoided it.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace heed::tests;

namespace {

const std::vector<lengths> several_tiles{{1, 1}, {1, 384}, {49, 128}, {129, 129}, {200, 200}, {100, 400}};

std::int64_t first_query(std::int64_t) { return 0; }

std::int64_t remainder(std::int64_t a, std::int64_t b) { return (a % b + b) % b; }

}  // namespace

TEST_CASE("remainders by divisors of a tile's rows: every tile has hidden pairs") {
    for (const lengths &sizes : several_tiles) {
        verify(kernels::thirds, sizes, {.attends = [](const pair &at) { return (at.q - at.kv) % 3 == 0; }});
        verify(kernels::not_thirds, sizes,
               {.attends = [](const pair &at) { return remainder(at.q - at.kv, 12) != 1; }});
    }
}

TEST_CASE("sums of inputs may leave 32 bits where no pair's does") {
    filler random(70);
    for (const lengths &sizes : several_tiles) {
        tensor<std::int32_t, 1> start({sizes.q_len}), length({sizes.q_len});
        for (std::int64_t row = 0; row < sizes.q_len; ++row) {
            const bool to_the_end = random.integer(0, 1) == 1;
            start(row) = to_the_end ? 0 : static_cast<std::int32_t>(random.integer(0, 50));
            length(row) = to_the_end ? INT32_MAX : static_cast<std::int32_t>(random.integer(0, 40));
        }
        verify(kernels::from_start, sizes, {start.view(), length.view()}, {.attends = [&](const pair &at) {
                   return at.kv >= start(at.row) && at.kv < std::int64_t{start(at.row)} + length(at.row);
               }});
    }
}

TEST_CASE("positions are divided as C++ divides them") {
    for (const lengths &sizes : several_tiles) {
        verify(kernels::real_blocks, sizes,
               {.attends = [](const pair &at) { return at.q / 41 == at.kv / 41; }, .query_start = first_query});
    }
}

TEST_CASE("a score can be tested for NaN") {
    for (const lengths &sizes : several_tiles) {
        problem of(kernels::nan_replaced.description(), sizes);
        for (std::int64_t head = 0; head < 2; ++head) of.key(0, head, sizes.kv_len / 2, 1) = std::nanf("");
        const semantics replaced{.modify = [](double score, const pair &) { return std::isnan(score) ? -3 : score; }};
        verify(kernels::nan_replaced, of, replaced);
        verify(kernels::nan_unordered, of, replaced);
    }
}

TEST_CASE("weights of one's own are asked for a visible score of -inf, too") {
    for (const lengths &sizes : several_tiles) {
        tensor<float, 1> bias({sizes.kv_len});
        for (std::int64_t key = 0; key < sizes.kv_len; ++key) {
            bias(key) = key % 3 == 0 ? -std::numeric_limits<float>::infinity() : 0.0f;
        }
        verify(kernels::any_weight, sizes, {bias.view()},
               {.attends = causal,
                .modify = [&](double score, const pair &at) { return score + bias(at.kv); },
                .weight = [](double score, const pair &) { return score < -1000 ? 1.0 : 2.0; }});
    }
}

TEST_CASE("tables that no tile reads are not asked for elements that they lack") {
    for (const lengths &sizes : several_tiles) {
        for (const int d : {0, 60, 1000}) {
            tensor<std::int32_t, 2> a({sizes.batch, sizes.q_len}), b({sizes.batch, sizes.kv_len});
            filler random(71);
            for_each_index<2>(a.extents(),
                              [&](const auto &at) { a[at] = static_cast<std::int32_t>(random.integer(0, 40)); });
            for_each_index<2>(b.extents(),
                              [&](const auto &at) { b[at] = static_cast<std::int32_t>(random.integer(0, 60)); });
            verify(kernels::no_tile_reads, sizes, {a.view(), d, b.view()},
                   {.attends =
                        [&](const pair &at) {
                            return at.q / 2 > a(at.batch, at.row) && at.q > d &&
                                   (std::min<std::int64_t>(at.kv, 50) > b(at.batch, at.kv) || at.kv > d);
                        },
                    .query_start = first_query});
        }
    }
}
