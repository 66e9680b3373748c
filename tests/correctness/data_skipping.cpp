// SPDX-License-Identifier: MIT
//
// Masks by what inputs hold: kernels find out which tiles to skip from tables of the lowest and highest elements, and
// must be right whatever the inputs hold and wherever they lie.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"
#include "heed_word_kernels.hpp"

#include <algorithm>
#include <functional>
#include <string>

using namespace heed::tests;

namespace {

semantics same_document(const tensor<std::int32_t, 2> &document) {
    return {
        .attends = [&](const pair &at) { return causal(at) && document(at.batch, at.q) == document(at.batch, at.kv); }};
}

const std::vector<lengths> causal_lengths{{1, 1}, {1, 300}, {64, 64}, {65, 129}, {200, 200}, {130, 520}, {7, 400, 5}};

/// A document for each position, by what `number(batch, position)` gives.
tensor<std::int32_t, 2> documents(const lengths &sizes,
                                  const std::function<std::int64_t(std::int64_t, std::int64_t)> &number) {
    tensor<std::int32_t, 2> made({sizes.batch, std::max(sizes.q_len, sizes.kv_len)});
    for_each_index<2>(made.extents(),
                      [&](const auto &at) { made[at] = static_cast<std::int32_t>(number(at[0], at[1])); });
    return made;
}

}  // namespace

TEST_CASE("kernels whose masks compare inputs of queries with inputs of keys have tables") {
    const auto has_tables = [](const heed::variant_description &variant) {
        bool all = true;
        for (int i = 0; i < variant.kernel_count; ++i) {
            if (std::string(variant.kernels[i].schedule) != "prefill") continue;
            all = all && variant.kernels[i].table_count > 0 && variant.kernels[i].make_tables != nullptr;
        }
        return all;
    };
    CHECK(has_tables(kernels::documents.description()));
    CHECK(has_tables(kernels::same_causal.description()));
    CHECK(has_tables(kernels::same_real.description()));
    CHECK(has_tables(kernels::earlier.description()));
    CHECK(has_tables(kernels::reach_by_row.description()));
    CHECK(kernels::dense.description().kernels[0].table_count == 0);
}

TEST_CASE("documents one after the other, in any number") {
    for (const std::int64_t length : {1, 3, 31, 64, 100, 10000}) {
        for (const lengths &sizes : causal_lengths) {
            CAPTURE(length);
            const auto document =
                documents(sizes, [&](std::int64_t b, std::int64_t at) { return (at + 5 * b) / length; });
            verify(kernels::same_causal, sizes, {document.view()}, same_document(document));
        }
    }
}

TEST_CASE("documents in any order, from few to many, and at the ends of their type") {
    filler random(50);
    for (const std::int64_t largest : {0, 1, 4, 1000000}) {
        for (const lengths &sizes : causal_lengths) {
            const auto document =
                documents(sizes, [&](std::int64_t, std::int64_t) { return random.integer(-largest, largest); });
            verify(kernels::same_causal, sizes, {document.view()}, same_document(document));
        }
    }
    const lengths sizes{200, 200};
    const std::int64_t ends[] = {INT32_MIN, INT32_MAX, 0, -1};
    const auto document =
        documents(sizes, [&](std::int64_t b, std::int64_t at) { return ends[(at / (b == 0 ? 1 : 50)) % 4]; });
    verify(kernels::same_causal, sizes, {document.view()}, same_document(document));
}

TEST_CASE("documents that fall, that return, and one that nobody shares") {
    const lengths sizes{260, 260};
    const std::function<std::int64_t(std::int64_t, std::int64_t)> patterns[] = {
        [](std::int64_t, std::int64_t at) { return -at / 40; },
        [](std::int64_t b, std::int64_t at) { return at / 64 % 2 + b; },
        [](std::int64_t, std::int64_t at) { return at == 130 ? 99 : 1; },
        [](std::int64_t, std::int64_t at) { return at; },
        [](std::int64_t, std::int64_t at) { return at < 128 ? at % 2 : 2 + at % 2; }};
    for (const auto &pattern : patterns) {
        const auto document = documents(sizes, pattern);
        verify(kernels::same_causal, sizes, {document.view()}, same_document(document));
    }
}

TEST_CASE("documents with any strides, shared by batches, and masked keys that hold anything") {
    const lengths sizes{150, 200, 3};
    const auto document = documents(sizes, [](std::int64_t b, std::int64_t at) { return at / (20 + 30 * b); });
    problem of(kernels::same_causal.description(), sizes);
    for (const index_list<2> &strides : {index_list<2>{1, 3}, {1000, -3}, {-300, 1}, {7, 21}}) {
        const auto elsewhere = document.with_strides(strides);
        verify(kernels::same_causal, of, {elsewhere.view()}, same_document(document));
    }
    tensor<std::int32_t, 2> shared({3, 200}, {0, 1});
    for_each_index<2>(shared.extents(),
                      [&](const auto &at) { shared[at] = static_cast<std::int32_t>((at[1] + 20) / 70); });
    // All rows stand at 50 and later, so no one sees the first document.
    for_each_index<4>(of.key.extents(), [&](const auto &at) {
        if (at[2] < 50) of.key[at] = of.value[at] = not_a_number;
    });
    verify(kernels::same_causal, of, {shared.view()}, same_document(shared));
}

TEST_CASE("more queries than keys, aligned top_left; labels are real numbers") {
    for (const lengths &sizes : {lengths{300, 50}, {300, 1}, {50, 300}, {130, 130}}) {
        tensor<float, 2> label({sizes.batch, std::max(sizes.q_len, sizes.kv_len)});
        for_each_index<2>(label.extents(), [&](const auto &at) {
            label[at] = static_cast<float>(at[1] / (at[0] == 0 ? 7 : 90)) * 0.1f - 2;
        });
        verify(kernels::same_real, sizes, {label.view()},
               {.attends = [&](const pair &at) { return label(at.batch, at.q) == label(at.batch, at.kv); },
                .query_start = [](std::int64_t) { return 0; }});
    }
}

TEST_CASE("labels that are NaN, infinite, zeros of both signs or subnormal") {
    const lengths sizes{260, 260};
    const float specials[] = {not_a_number, infinity, -infinity, 0.0f, -0.0f, 1.0f, 3e38f, -3e38f};
    filler random(51);
    for (const std::int64_t run_length : {1, 30, 70, 300}) {
        tensor<float, 2> label({sizes.batch, 260});
        std::int64_t chosen = 0;
        for_each_index<2>(label.extents(), [&](const auto &at) {
            if (at[1] % run_length == 0) chosen = random.integer(0, 7);
            label[at] = specials[chosen];
        });
        verify(kernels::same_real, sizes, {label.view()},
               {.attends = [&](const pair &at) { return label(at.batch, at.q) == label(at.batch, at.kv); },
                .query_start = [](std::int64_t) { return 0; }});
    }
}

TEST_CASE("times: a key is seen from its time on; NaN and infinities among them") {
    for (const lengths &sizes : {lengths{1, 1}, {1, 300}, {130, 300}, {300, 70}}) {
        for (const int kind : {0, 1, 2}) {
            tensor<float, 2> time({sizes.batch, sizes.kv_len}), now({sizes.batch, sizes.q_len});
            filler random(52);
            random.fill(time, 100);
            random.fill(now, 100);
            if (kind != 1) {  // in order
                for_each_index<2>(time.extents(), [&](const auto &at) { time[at] = static_cast<float>(at[1]) * 0.5f; });
                for_each_index<2>(now.extents(), [&](const auto &at) { now[at] = static_cast<float>(at[1]) * 0.4f; });
            }
            if (kind == 2) {
                for_each_index<2>(time.extents(), [&](const auto &at) {
                    if (at[1] % 50 == 7) time[at] = not_a_number;
                    if (at[1] % 50 == 9) time[at] = -infinity;
                });
                for_each_index<2>(now.extents(), [&](const auto &at) {
                    if (at[1] % 90 == 3) now[at] = not_a_number;
                    if (at[1] % 90 == 5) now[at] = infinity;
                });
            }
            verify(kernels::earlier, sizes, {time.view(), now.view()},
                   {.attends = [&](const pair &at) { return time(at.batch, at.kv) <= now(at.batch, at.row); }});
        }
    }
}

TEST_CASE("first and last key of every row of every head") {
    for (const lengths &sizes : {lengths{1, 1}, {1, 300}, {130, 300}, {200, 150}}) {
        for (const std::int64_t spread : {0, 40, 1000}) {
            tensor<std::int32_t, 3> first({sizes.batch, 4, sizes.q_len}), last({sizes.batch, 4, sizes.q_len});
            filler random(53);
            for_each_index<3>(first.extents(), [&](const auto &at) {
                const std::int64_t middle = at[2] + 30 * at[1];
                first[at] = static_cast<std::int32_t>(middle - random.integer(0, spread));
                last[at] = static_cast<std::int32_t>(middle + random.integer(0, spread));
            });
            verify(kernels::reach_by_row, sizes, {first.view(), last.view()}, {.attends = [&](const pair &at) {
                       return at.kv >= first(at.batch, at.head, at.row) && at.kv < last(at.batch, at.head, at.row);
                   }});
        }
    }
}

TEST_CASE("lookups within lookups: kinds of tokens") {
    for (const lengths &sizes : {lengths{1, 1}, {65, 300}, {300, 65}}) {
        tensor<std::int32_t, 1> kind({50});
        tensor<std::int32_t, 2> of_key({sizes.batch, sizes.kv_len}), of_query({sizes.batch, sizes.q_len});
        filler random(54);
        random.fill(kind, 0, 3);
        for (const bool in_order : {false, true}) {
            random.fill(of_key, 0, 49);
            random.fill(of_query, 0, 49);
            if (in_order) {
                for_each_index<2>(of_key.extents(),
                                  [&](const auto &at) { of_key[at] = static_cast<std::int32_t>(at[1] / 40 % 50); });
            }
            verify(kernels::kinds, sizes, {kind.view(), of_key.view(), of_query.view()},
                   {.attends = [&](const pair &at) {
                       return kind(of_key(at.batch, at.kv)) == kind(of_query(at.batch, at.row));
                   }});
        }
    }
}
