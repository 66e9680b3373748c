// SPDX-License-Identifier: MIT
//
// A logit that only the denominator sees: counted once per row and not scaled.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <cmath>
#include <limits>

using namespace heed::tests;

namespace {

void verify_with(const std::vector<float> &sinks, const lengths &sizes, double peak = 1) {
    const auto sink_table = table(sinks);
    const problem of(kernels::sink.description(), sizes, peak);
    verify(kernels::sink, of, {sink_table.view()},
           {.attends = causal,
            .sink = [&](std::int64_t, std::int64_t head) { return double{sinks[static_cast<std::size_t>(head)]}; },
            .scale = 0.125});
}

}  // namespace

TEST_CASE("sink logits around the edges of tiles") {
    for (const lengths &sizes : around_tile_edges(kernels::sink.description())) {
        verify_with({0.5f, -1.0f, 2.0f, 0.0f}, sizes);
    }
}

TEST_CASE("the sink is counted once, however many tiles there are, and not scaled") {
    const auto sinks = table<float>({3.0f, 3.0f, 3.0f, 3.0f});
    problem of(kernels::sink.description(), {1, 1000, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &index) { of.query[index] = 0; });
    for (const kernel_choice &which : kernels_of(kernels::sink.description())) {
        const results got = run(kernels::sink, of, {sinks.view()}, which, 1);
        CHECK(got.log_sum_exp(0, 0, 0) == doctest::Approx(std::log(1000 + std::exp(3.0))));
    }
}

TEST_CASE("a sink that is huge takes everything, one that is tiny nothing") {
    constexpr float largest = std::numeric_limits<float>::max();
    verify_with({40.0f, 100.0f, 1e4f, 1e30f}, {70, 150});
    verify_with({-40.0f, -100.0f, -1e4f, -1e30f}, {70, 150});
    verify_with({largest, -largest, 2.5e38f, -2.5e38f}, {70, 150});
    verify_with({-infinity, 0.0f, 1e-40f, 5.0f}, {70, 150});
}

TEST_CASE("sinks beside peaked scores") { verify_with({30.0f, -30.0f, 0.0f, 90.0f}, {100, 300}, 60); }

TEST_CASE("a row that sees nothing has output 0 and log_sum_exp -inf, with a sink too") {
    const auto sinks = table<float>({3.0f, -3.0f, 1e30f, -1e30f});
    problem of(kernels::sink.description(), {60, 40, 1});
    for (const kernel_choice &which : kernels_of(kernels::sink.description())) {
        const results got = run(kernels::sink, of, {sinks.view()}, which, 1);
        for (std::int64_t head = 0; head < 4; ++head) {
            CHECK(got.output(0, head, 19, 0) == 0.0f);
            CHECK(got.log_sum_exp(0, head, 19) == -INFINITY);
        }
    }
}

TEST_CASE("NaN as a sink reaches the rows of its head and no other") {
    verify_with({0.0f, not_a_number, 1.0f, 2.0f}, {50, 150});
}
