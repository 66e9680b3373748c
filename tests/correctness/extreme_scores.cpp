// SPDX-License-Identifier: MIT
//
// Scores of any finite size are ordinary scores.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <cmath>
#include <functional>

using namespace heed::tests;

namespace {

/// A problem of `dense` in which the score of row and key is about `score(row, key)`.
problem with_scores(const lengths &sizes, const std::function<double(std::int64_t, std::int64_t)> &score) {
    problem of(kernels::dense.description(), sizes);
    for_each_index<4>(of.query.extents(), [&](const auto &index) { of.query[index] = index[3] == 0 ? 0x1p20f : 0; });
    for_each_index<4>(of.key.extents(), [&](const auto &index) {
        of.key[index] = index[3] == 0 ? static_cast<float>(score(0, index[2]) * std::sqrt(8.0) * 0x1p-20) : 0;
    });
    return of;
}

}  // namespace

TEST_CASE("a row whose every score is the same, however low or high") {
    for (const double level : {-2e5, 2e5, -1e30, 1e30, -1e38, 1e38, -3e38, 3e38}) {
        CAPTURE(level);
        verify(kernels::dense, with_scores({70, 300, 1}, [&](std::int64_t, std::int64_t) { return level; }));
    }
}

TEST_CASE("one key stands out, however far") {
    for (const double level : {1e3, 1e10, 1e38}) {
        for (const std::int64_t best : {0, 64, 129, 299}) {
            CAPTURE(level);
            CAPTURE(best);
            verify(kernels::dense, with_scores({70, 300, 1}, [&](std::int64_t, std::int64_t key) {
                       return key == best ? level : -level;
                   }));
        }
    }
}

TEST_CASE("scores that rise or fall from tile to tile") {
    for (const double step : {1.0, -1.0, 100.0, -100.0}) {
        CAPTURE(step);
        verify(kernels::dense, with_scores({70, 400, 1}, [&](std::int64_t, std::int64_t key) {
                   return step * static_cast<double>(key);
               }));
    }
}

TEST_CASE("peaked scores") {
    for (const double peak : {10.0, 100.0, 1e4}) {
        CAPTURE(peak);
        verify(kernels::dense, problem(kernels::dense.description(), {100, 400}, peak));
        verify(kernels::dim_31, problem(kernels::dim_31.description(), {40, 300, 1}, peak));
    }
}

TEST_CASE("values near the ends of their type") {
    problem of(kernels::dense.description(), {70, 150, 1});
    // Sums of as many values must be finite: they are divided by the denominator last.
    for_each_index<4>(of.value.extents(), [&](const auto &index) { of.value[index] *= 2e36f; });
    verify(kernels::dense, of);
    for_each_index<4>(of.value.extents(), [&](const auto &index) { of.value[index] = 1e-40f; });
    const results got = run(kernels::dense, of, {}, kernels_of(kernels::dense.description()).front(), 1);
    CHECK(std::fabs(got.output(0, 0, 0, 0)) <= 2e-40f);
}
