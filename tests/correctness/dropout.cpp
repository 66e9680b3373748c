// SPDX-License-Identifier: MIT
//
// Factors of weights: dropout, whose pattern is that of Philox 4x32-10 as published, and a table.
#include <verify.hpp>

#include "heed_hook_kernels.hpp"

#include <array>
#include <cmath>

using namespace heed::tests;

namespace {

/// Salmon et al. 2011, section 3.3, with the constants of table 2 and their release of the code.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> x, std::uint32_t k0, std::uint32_t k1) {
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x[0], p1 = std::uint64_t{0xCD9E8D57u} * x[2];
        x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ k0, static_cast<std::uint32_t>(p1),
             static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ k1, static_cast<std::uint32_t>(p0)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return x;
}

/// Uniform in [0, 1), from the upper 24 bits of one word for each pair.
double uniform(std::int32_t seed, const pair &at) {
    const auto words = philox({static_cast<std::uint32_t>(at.kv / 4), static_cast<std::uint32_t>(at.row),
                               static_cast<std::uint32_t>(at.head), static_cast<std::uint32_t>(at.batch)},
                              static_cast<std::uint32_t>(seed), 0);
    return (words[static_cast<std::size_t>(at.kv % 4)] >> 8) / 16777216.0;
}

semantics dropped_from(std::int32_t seed) {
    return {.attends = causal,
            .weight_factor = [seed](const pair &at) { return uniform(seed, at) < 0.25 ? 0.0 : 1 / 0.75; }};
}

}  // namespace

TEST_CASE("Philox 4x32-10 gives the known answers of Random123's kat_vectors") {
    using words = std::array<std::uint32_t, 4>;
    CHECK(philox({0, 0, 0, 0}, 0, 0) == words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff) ==
          words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0) ==
          words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("dropout has the pattern of the generator, for any tiles and threads") {
    for (const std::int32_t seed : {0, 1, -1, 123456789}) {
        for (const lengths &sizes : {lengths{1, 1}, {1, 300}, {65, 65}, {130, 300}, {200, 129}}) {
            CAPTURE(seed);
            verify(kernels::dropped, sizes, {seed}, dropped_from(seed));
        }
    }
}

TEST_CASE("dropout around every edge of a tile") {
    for (const lengths &sizes : around_tile_edges(kernels::dropped.description())) {
        verify(kernels::dropped, sizes, {7}, dropped_from(7));
    }
}

TEST_CASE("a seed for each batch; the factors have a mean of 1") {
    problem of(kernels::dropped_by_half.description(), {100, 400});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = 0; });
    for_each_index<4>(of.value.extents(), [&](const auto &at) { of.value[at] = 1; });
    const auto seeds = table<std::int32_t>({5, 6}), same_seeds = table<std::int32_t>({5, 5});
    verify(kernels::dropped_by_half, of, {seeds.view()},
           {.weight_factor = [&](const pair &at) { return uniform(seeds(at.batch), at) < 0.5 ? 0.0 : 2.0; }});
    for (const kernel_choice &which : kernels_of(kernels::dropped_by_half.description())) {
        for (const auto &each : {seeds, same_seeds}) {
            const results got = run(kernels::dropped_by_half, of, {each.view()}, which, 1);
            double sum = 0, products = 0;
            for (std::int64_t head = 0; head < 2; ++head) {
                for (std::int64_t row = 0; row < 100; ++row) {
                    const double a = got.output(0, head, row, 0), b = got.output(1, head, row, 0);
                    sum += a + b;
                    products += (a - 1) * (b - 1);
                }
            }
            // 160000 factors of 0 or 2: the standard deviation of their mean is 0.0025. That of a row is 0.05.
            CHECK(sum / 400 == doctest::Approx(1).epsilon(0.0125));
            // Neither seeds nor batches share a pattern: the correlation of two rows is 0, its mean over 200 within
            // 0.07.
            CHECK(std::fabs(products / 200 / (0.05 * 0.05)) < 0.35);
        }
    }
}

TEST_CASE("the denominator does not see the factors") {
    problem of(kernels::dropped.description(), {1, 1000, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = 0; });
    for (const kernel_choice &which : kernels_of(kernels::dropped.description())) {
        const results got = run(kernels::dropped, of, {3}, which, 1);
        CHECK(got.log_sum_exp(0, 2, 0) == doctest::Approx(std::log(1000.0)));
    }
}

TEST_CASE("a table of factors, on weights that are no softmax") {
    for (const lengths &sizes : {lengths{1, 1}, {65, 130}, {130, 300}}) {
        tensor<float, 3> factor({2, sizes.q_len, sizes.kv_len});
        filler(41).fill(factor);
        // Factors of masked pairs may be anything.
        for_each_index<3>(factor.extents(), [&](const auto &at) {
            if (at[2] % 7 == 3) factor[at] = at[1] % 2 == 0 ? not_a_number : infinity;
        });
        verify(kernels::factored, sizes, {factor.view()},
               {.attends = [](const pair &at) { return at.kv % 7 != 3; },
                .weight = [](double score, const pair &) { return 1 / (1 + std::exp(-score)); },
                .weight_factor = [&](const pair &at) { return double{factor(at.head, at.row, at.kv)}; }});
    }
}
