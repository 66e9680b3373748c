// SPDX-License-Identifier: MIT
//
// Changes of the score: what they are, and that they come before the mask.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <limits>

using namespace heed::tests;

namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();

semantics biased_by(const tensor<float, 4> &bias) {
    return {.modify = [&bias](double score,
                              const pair &at) { return score + double{bias(at.batch, at.head, at.q, at.kv)}; },
            .query_start = [](std::int64_t) { return 0; }};
}

}  // namespace

TEST_CASE("softcap before the mask: capped scores never uncover a masked key") {
    // Were the mask first, a masked key would have the weight of a score of -2.
    problem of(kernels::capped.description(), {150, 150}, 20);
    verify(kernels::capped, of,
           {.attends = causal,
            .modify = [](double score, const pair &) { return soft_cap(score, 2); },
            .query_start = [](std::int64_t) { return 0; }});
    for (const kernel_choice &which : kernels_of(kernels::capped.description())) {
        const results got = run(kernels::capped, of, {}, which, 1);
        for (std::int64_t d = 0; d < 8; ++d) CHECK(got.output(0, 0, 0, d) == of.value(0, 0, 0, d));
    }
}

TEST_CASE("ALiBi's slopes of six heads") {
    const semantics meaning{.attends = causal, .modify = [](double score, const pair &at) {
                                return score - alibi_slope(at.head, 6) * static_cast<double>(at.q - at.kv);
                            }};
    // The paper: 2^-2, 2^-4, 2^-6, 2^-8 for four heads, then 2^-1, 2^-3.
    CHECK(alibi_slope(3, 6) == 1.0 / 256);
    CHECK(alibi_slope(4, 6) == 1.0 / 2);
    CHECK(alibi_slope(5, 6) == 1.0 / 8);
    for (const lengths &sizes : around_tile_edges(kernels::sloped.description())) {
        verify(kernels::sloped, sizes, meaning);
    }
}

TEST_CASE("a bias for every pair") {
    for (const lengths &sizes : {lengths{1, 1}, {50, 130}, {130, 50}, {65, 257}}) {
        tensor<float, 4> bias({2, 2, sizes.q_len, sizes.kv_len});
        filler(1).fill(bias, 4);
        verify(kernels::biased, sizes, {bias.view()}, biased_by(bias));
    }
}

TEST_CASE("a bias of the lowest finite number is not a mask") {
    tensor<float, 4> bias({1, 2, 70, 150});
    for (const float level : {lowest, -1e38f, -2e5f}) {
        CAPTURE(level);
        for_each_index<4>(bias.extents(), [&](const auto &index) { bias[index] = level; });
        // A score of a few units vanishes beside such a number, so all weights of a row are the same.
        problem of(kernels::biased.description(), {70, 150, 1});
        if (level == -2e5f) for_each_index<4>(of.query.extents(), [&](const auto &index) { of.query[index] = 0; });
        verify(kernels::biased, of, {bias.view()}, biased_by(bias));
    }
}

TEST_CASE("a bias of the lowest finite number beside ordinary ones weighs nothing") {
    tensor<float, 4> bias({1, 2, 70, 300});
    for_each_index<4>(bias.extents(), [&](const auto &index) { bias[index] = index[3] % 3 == 0 ? 0.5f : lowest; });
    verify(kernels::biased, lengths{70, 300, 1}, {bias.view()}, biased_by(bias));
    // Also if a whole tile of keys has it.
    for_each_index<4>(bias.extents(), [&](const auto &index) { bias[index] = index[3] < 200 ? lowest : 0.5f; });
    verify(kernels::biased, lengths{70, 300, 1}, {bias.view()}, biased_by(bias));
}

TEST_CASE("a bias of minus infinity takes a key away") {
    tensor<float, 4> bias({1, 2, 70, 300});
    for_each_index<4>(bias.extents(), [&](const auto &index) {
        bias[index] = index[2] == 66 || (index[3] < 140 && index[2] % 2 == 0) ? -infinity : 0.25f;
    });
    verify(kernels::biased, lengths{70, 300, 1}, {bias.view()}, biased_by(bias));
}

TEST_CASE("NaN in a bias reaches its row and no other") {
    tensor<float, 4> bias({1, 2, 70, 300});
    filler(2).fill(bias);
    bias(0, 1, 65, 131) = not_a_number;
    verify(kernels::biased, lengths{70, 300, 1}, {bias.view()}, biased_by(bias));
}
