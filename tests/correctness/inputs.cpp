// SPDX-License-Identifier: MIT
//
// Inputs of a variant in masks: whole and real numbers, read by positions, batch and head, or single numbers; with any
// strides.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <algorithm>

using namespace heed::tests;

TEST_CASE("documents: a query sees the keys of its own document") {
    for (const lengths &sizes : {lengths{1, 1}, {47, 47}, {130, 130}, {200, 200}, {50, 300}, {300, 50}}) {
        tensor<std::int32_t, 2> document({sizes.batch, std::max(sizes.q_len, sizes.kv_len)});
        for_each_index<2>(document.extents(), [&](const auto &index) {
            document[index] = static_cast<std::int32_t>(index[1] / (index[0] == 0 ? 33 : 100) * 5 - 7);
        });
        verify(kernels::documents, sizes, {document.view()},
               {.attends = [&](const pair &at) { return document(at.batch, at.q) == document(at.batch, at.kv); },
                .query_start = [](std::int64_t) { return 0; }});
    }
}

TEST_CASE("documents without queries or keys") {
    tensor<std::int32_t, 2> document({2, 50});
    filler(11).fill(document, 0, 3);
    for (const lengths &sizes : {lengths{50, 0}, {0, 50}, {0, 0}}) {
        verify(kernels::documents, sizes, {document.view()},
               {.attends = [&](const pair &at) { return document(at.batch, at.q) == document(at.batch, at.kv); },
                .query_start = [](std::int64_t) { return 0; }});
    }
}

TEST_CASE("documents in any order") {
    tensor<std::int32_t, 2> document({2, 200});
    filler(3).fill(document, 0, 3);
    const semantics meaning{
        .attends = [&](const pair &at) { return document(at.batch, at.q) == document(at.batch, at.kv); },
        .query_start = [](std::int64_t) { return 0; }};
    verify(kernels::documents, lengths{200, 200}, {document.view()}, meaning);
    // The same numbers in other places of memory.
    for (const index_list<2> &strides : {index_list<2>{1, 2}, {1000, -3}, {-300, 1}, {7, 17}}) {
        const auto elsewhere = document.with_strides(strides);
        verify(kernels::documents, lengths{200, 200}, {elsewhere.view()}, meaning);
    }
}

TEST_CASE("one row of documents for all batches") {
    tensor<std::int32_t, 2> document({3, 150}, {0, 2});
    filler(4).fill(document, -2, 2);
    verify(kernels::documents, lengths{150, 150, 3}, {document.view()},
           {.attends = [&](const pair &at) { return document(at.batch, at.q) == document(at.batch, at.kv); },
            .query_start = [](std::int64_t) { return 0; }});
}

TEST_CASE("real numbers in a mask, by head and alone") {
    for (const std::vector<float> &rates : {std::vector<float>{0.5f, 1.0f, -1.0f, 0.0f},
                                            {1e30f, -1e30f, infinity, -infinity},
                                            {1e-30f, 1e36f, -1e36f, 2.0f}}) {
        for (const float limit : {40.0f, 0.0f, -1e30f, infinity}) {
            CAPTURE(limit);
            const auto rate = table(rates);
            const problem of(kernels::by_number.description(), {50, 200});
            verify(kernels::by_number, of, {rate.view(), limit}, {.attends = [&](const pair &at) {
                       return !(static_cast<float>(at.kv) * rates[static_cast<std::size_t>(at.head)] < limit);
                   }});
        }
    }
}

TEST_CASE("NaN in a mask: comparisons with it are false, their negation is true") {
    const std::vector<float> rates{0.5f, not_a_number, -0.5f, not_a_number};
    const auto rate = table(rates);
    for (const float limit : {40.0f, not_a_number}) {
        CAPTURE(limit);
        verify(kernels::by_number, lengths{50, 200}, {rate.view(), limit}, {.attends = [&](const pair &at) {
                   return !(static_cast<float>(at.kv) * rates[static_cast<std::size_t>(at.head)] < limit);
               }});
    }
}

TEST_CASE("a choice between conditions, by an input; a number and a whole number in a score") {
    for (const lengths &sizes : {lengths{47, 385, 3}, {150, 200, 3}, {1, 130, 3}}) {
        tensor<std::int32_t, 2> reach({3, sizes.kv_len});
        filler(10).fill(reach, -5, 200);
        const auto offsets = table<std::int32_t>({-3, 2});
        verify(kernels::chosen, sizes, {reach.view(), 1.5f, offsets.view()},
               {.attends =
                    [&](const pair &at) {
                        if (!causal(at)) return false;
                        return at.kv < reach(at.batch, at.kv) ? at.kv % 3 == 0
                                                              : at.batch < std::min<std::int64_t>(1, at.kv);
                    },
                .modify = [&](double score, const pair &at) { return score * 1.5 + offsets(at.head); },
                .query_start = [](std::int64_t) { return 0; }});
    }
}

TEST_CASE("a bias with any strides") {
    tensor<float, 4> bias({2, 2, 60, 140});
    filler(5).fill(bias, 3);
    const problem of(kernels::biased.description(), {60, 140});
    for (const index_list<4> &strides :
         {index_list<4>{1, 2, 4, 240}, {-20000, 9000, -141, 1}, {33600, 16800, 2, 120}}) {
        const auto elsewhere = bias.with_strides(strides);
        verify(kernels::biased, of, {elsewhere.view()},
               {.modify = [&](double score,
                              const pair &at) { return score + double{bias(at.batch, at.head, at.q, at.kv)}; },
                .query_start = [](std::int64_t) { return 0; }});
    }
    tensor<float, 4> one_row({2, 2, 60, 140}, {0, 0, 0, 1});
    filler(6).fill(one_row, 3);
    verify(kernels::biased, of, {one_row.view()},
           {.modify = [&](double score, const pair &at) { return score + double{one_row(0, 0, 0, at.kv)}; },
            .query_start = [](std::int64_t) { return 0; }});
}
