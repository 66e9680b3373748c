// SPDX-License-Identifier: MIT
//
// NaN and infinities: they reach exactly the rows that see them.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace heed::tests;

namespace {

void fill_key(problem &of, std::int64_t key, float in_key, float in_value) {
    for_each_index<4>(of.key.extents(), [&](const auto &index) {
        if (index[2] == key) of.key[index] = in_key;
    });
    for_each_index<4>(of.value.extents(), [&](const auto &index) {
        if (index[2] == key) of.value[index] = in_value;
    });
}

}  // namespace

TEST_CASE("keys that no row sees may hold anything") {
    for (const float poison : {not_a_number, infinity, -infinity}) {
        for (const lengths &sizes : {lengths{5, 10}, {65, 130}, {100, 400}}) {
            problem of(kernels::holes.description(), sizes);
            for (std::int64_t key = 3; key < sizes.kv_len; key += 7) fill_key(of, key, poison, poison);
            verify(kernels::holes, of, {.attends = [](const pair &at) { return at.kv % 7 != 3; }});
        }
    }
}

TEST_CASE("keys before the window and after the query may hold anything") {
    for (const float poison : {not_a_number, infinity}) {
        problem of(kernels::window_first.description(), {10, 300});
        for (std::int64_t key = 3; key <= 300 - 10 - 20; ++key) fill_key(of, key, poison, poison);
        verify(kernels::window_first, of,
               {.attends = [](const pair &at) { return causal(at) && (in_window(at, 20) || at.kv < 3); }});
    }
}

TEST_CASE("keys behind all queries may hold anything, whatever rows fill up the last tile") {
    for (const float poison : {not_a_number, infinity}) {
        for (const std::int64_t q_len : {1, 40, 100, 129}) {
            problem of(kernels::capped.description(), {q_len, 260});
            for (std::int64_t key = q_len; key < 260; ++key) fill_key(of, key, poison, poison);
            verify(kernels::capped, of,
                   {.attends = causal,
                    .modify = [](double score, const pair &) { return soft_cap(score, 2); },
                    .query_start = [](std::int64_t) { return 0; }});
        }
    }
}

TEST_CASE("padding may hold anything") {
    const std::vector<std::int32_t> lengths_of{1, 127, 128, 130}, starts{200, 200, 100, 40};
    const auto length_table = table(lengths_of), start_table = table(starts);
    const auto length = [&](std::int64_t batch) { return lengths_of[static_cast<std::size_t>(batch)]; };
    for (const float poison : {not_a_number, infinity}) {
        problem of(kernels::ragged.description(), {70, 300, 4});
        for_each_index<4>(of.key.extents(), [&](const auto &index) {
            if (index[2] >= length(index[0])) of.key[index] = of.value[index] = poison;
        });
        verify(kernels::ragged, of, {length_table.view(), start_table.view()},
               {.attends = [&](const pair &at) { return causal(at) && at.kv < length(at.batch); },
                .query_start = [&](std::int64_t batch) { return starts[static_cast<std::size_t>(batch)]; }});
    }
}

TEST_CASE("a key that some rows see makes NaN of those rows only") {
    for (const lengths &sizes : {lengths{10, 10}, {65, 65}, {130, 300}, {200, 129}}) {
        for (const std::int64_t key : {std::int64_t{0}, sizes.kv_len / 2, sizes.kv_len - 2}) {
            for (const float poison : {not_a_number, infinity, -infinity}) {
                CAPTURE(key);
                CAPTURE(poison);
                problem of(kernels::dim_40.description(), sizes);
                fill_key(of, key, poison, poison);
                verify(kernels::dim_40, of, {.attends = causal});
            }
        }
    }
}

TEST_CASE("a value that some rows see reaches those rows only") {
    for (const float poison : {not_a_number, infinity, -infinity}) {
        problem of(kernels::dim_40.description(), {130, 300});
        of.value(0, 0, 200, 30) = poison;
        of.value(1, 0, 20, 0) = poison;
        of.value(1, 0, 299, 17) = poison;
        verify(kernels::dim_40, of, {.attends = causal});
        problem window(kernels::window.description(), {130, 300});
        window.value(0, 0, 255, 1) = poison;
        window.value(1, 0, 170, 3) = poison;
        verify(kernels::window, window, {.attends = [](const pair &at) { return causal(at) && in_window(at, 20); }});
    }
}

TEST_CASE("one NaN in a query, a key or a value that is seen") {
    for (const lengths &sizes : {lengths{1, 1}, {7, 9}, {70, 150}}) {
        problem query(kernels::dense.description(), sizes);
        query.query(0, 1, sizes.q_len - 1, 3) = not_a_number;
        verify(kernels::dense, query);
        problem key(kernels::dense.description(), sizes);
        key.key(1, 0, sizes.kv_len / 2, 7) = not_a_number;
        verify(kernels::dense, key);
        problem value(kernels::dense.description(), sizes);
        value.value(0, 0, sizes.kv_len - 1, 0) = not_a_number;
        verify(kernels::dense, value);
    }
}

TEST_CASE("an infinite element of a query or a key counts once, also where vectors overlap") {
    for (std::int64_t element = 0; element < 31; ++element) {
        CAPTURE(element);
        problem of(kernels::dim_31.description(), {3, 70, 1});
        for_each_index<4>(of.key.extents(), [&](const auto &index) {
            if (index[3] == element) of.key[index] = std::fabs(of.key[index]) + 0.5f;
        });
        for (std::int64_t head = 0; head < 12; ++head) of.query(0, head, 1, element) = -infinity;
        verify(kernels::dim_31, of);  // no score of these rows is finite
        problem one_key(kernels::dim_31.description(), {3, 70, 1});
        one_key.key(0, 1, 5, element) = -infinity;
        for (std::int64_t head = 6; head < 12; ++head) one_key.query(0, head, 2, element) = 1.0f;
        verify(kernels::dim_31, one_key);  // this key weighs nothing, or all: NaN
    }
}

TEST_CASE("NaN survives the softcap and biases by distance") {
    problem capped(kernels::capped.description(), {70, 150});
    capped.key(0, 0, 30, 2) = not_a_number;
    capped.query(1, 1, 64, 0) = not_a_number;
    verify(kernels::capped, capped,
           {.attends = causal,
            .modify = [](double score, const pair &) { return soft_cap(score, 2); },
            .query_start = [](std::int64_t) { return 0; }});
    problem sloped(kernels::sloped.description(), {70, 150});
    sloped.key(0, 1, 130, 2) = not_a_number;
    verify(kernels::sloped, sloped, {.attends = causal, .modify = [](double score, const pair &at) {
                                         return score - alibi_slope(at.head, 6) * static_cast<double>(at.q - at.kv);
                                     }});
}

TEST_CASE("every bit pattern of NaN is one") {
    for (const std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0xffffffffu, 0xff800001u, 0x7fffffffu}) {
        float pattern;
        std::memcpy(&pattern, &bits, sizeof pattern);
        CAPTURE(bits);
        problem key(kernels::dim_40.description(), {20, 150, 1});
        key.key(0, 0, 140, 39) = pattern;
        verify(kernels::dim_40, key, {.attends = causal});
        problem value(kernels::dim_40.description(), {20, 150, 1});
        value.value(0, 0, 140, 20) = pattern;
        verify(kernels::dim_40, value, {.attends = causal});
    }
}

TEST_CASE("NaN survives min and max") {
    const semantics meaning{.attends = causal, .modify = [](double score, const pair &) {
                                return std::isnan(score) ? score : std::clamp(score, -0.5, 0.75);
                            }};
    problem of(kernels::clipped.description(), {70, 150}, 3);
    verify(kernels::clipped, of, meaning);
    of.query(0, 1, 30, 2) = not_a_number;
    of.key(1, 0, 120, 3) = not_a_number;
    verify(kernels::clipped, of, meaning);
}
