// SPDX-License-Identifier: MIT
//
// Relative positions against what the authors' codes give, written out.
#include <heed/heed.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace heed;

namespace {

template <class E>
constexpr std::int64_t whole(const E &expression, std::int64_t q, std::int64_t kv) {
    return evaluate(expression, environment_of({.q = q, .kv = kv}));
}

/// A table whose elements tell where they were read.
constexpr auto where = [](auto input, std::int64_t entry, std::int64_t of_head) {
    CHECK(input.name() == "table");
    return static_cast<double>(100 * entry + of_head);
};

template <class E>
double read(const E &expression, const token_pair &pair) {
    return evaluate(expression, environment_of(pair, 0.25, where));
}

/// The bucket of a distance, given the first distance of each bucket.
std::int64_t bucket(const std::vector<std::int64_t> &first_distances, std::int64_t distance) {
    std::int64_t result = -1;
    for (const std::int64_t first : first_distances) {
        result += distance >= first ? 1 : 0;
    }
    return result;
}

void check_causal(auto buckets, const std::vector<std::int64_t> &first_distances) {
    for (std::int64_t distance = 0; distance < 300; ++distance) {
        CAPTURE(distance);
        CHECK(whole(buckets, distance + 5, 5) == bucket(first_distances, distance));
        CHECK(whole(buckets, 5, distance + 5) == 0);
    }
}

void check_bidirectional(auto buckets, const std::vector<std::int64_t> &first_distances) {
    const auto half = static_cast<std::int64_t>(first_distances.size());
    for (std::int64_t distance = 0; distance < 300; ++distance) {
        CAPTURE(distance);
        CHECK(whole(buckets, distance + 5, 5) == bucket(first_distances, distance));
        CHECK(whole(buckets, 5, distance + 5) == bucket(first_distances, distance) + (distance > 0 ? half : 0));
    }
}

// The bounds are known to the compiler: 16 * 8^(k / 16), rounded up.
static_assert(whole(t5_causal_bucket(), 15, 0) == 15);
static_assert(whole(t5_causal_bucket(), 18, 0) == 16);
static_assert(whole(t5_causal_bucket(), 19, 0) == 17);
static_assert(whole(t5_causal_bucket(), 112, 0) == 30);
static_assert(whole(t5_causal_bucket(), 113, 0) == 31);
static_assert(whole(t5_causal_bucket(), 1'000'000, 0) == 31);
static_assert(whole(t5_bidirectional_bucket(), 3, 0) == 3);
static_assert(whole(t5_bidirectional_bucket(), 0, 3) == 19);

}  // namespace

TEST_CASE("T5's buckets begin where those of the published code begin") {
    // First distance of each bucket, from _relative_position_bucket of the authors' code in 32-bit floating point.
    check_causal(t5_causal_bucket(), {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                      16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113});
    check_causal(t5_causal_bucket(8_c, 20_c), {0, 1, 2, 3, 4, 6, 9, 14});
    check_causal(t5_causal_bucket(5_c, 11_c), {0, 1, 2, 4, 7});
    check_causal(t5_causal_bucket(2_c, 2_c), {0, 1});
    check_bidirectional(t5_bidirectional_bucket(), {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91});
    check_bidirectional(t5_bidirectional_bucket(32_c, 256_c),
                        {0, 1, 2, 3, 4, 5, 6, 7, 8, 13, 20, 30, 46, 70, 108, 166});
    check_bidirectional(t5_bidirectional_bucket(8_c, 20_c), {0, 1, 2, 7});
}

TEST_CASE("a tile's buckets are known, so that a call is checked against the table") {
    const auto all = evaluate(t5_bidirectional_bucket(), tile_environment(pair_tile{.q = {0, 4095}, .kv = {0, 4095}}));
    CHECK(all.lowest == 0);
    CHECK(all.highest == 31);

    const auto window = swin_bias(7_c, 5_c, input<"table">);
    const auto entries = hana::unpack(window.indices, [](const auto &entry, const auto &) {
        return evaluate(entry, tile_environment(pair_tile{.q = {0, 34}, .kv = {0, 34}}));
    });
    CHECK(entries.lowest == 0);
    CHECK(entries.highest == 13 * 9 - 1);
}

TEST_CASE("t5_bias reads (bucket, head)") {
    const auto biased = score + t5_bias(t5_causal_bucket(), input<"table">);
    CHECK(read(biased, {.q = 30, .kv = 10, .head = 3}) == 1703.25);
    CHECK(read(biased, {.q = 10, .kv = 10, .head = 3}) == 3.25);
}

TEST_CASE("clipped_bias counts relative positions from the farthest earlier key") {
    constexpr auto distance = clipped_distance(2_c);
    CHECK(whole(distance, 9, 4) == 0);
    CHECK(whole(distance, 9, 7) == 0);
    CHECK(whole(distance, 9, 8) == 1);
    CHECK(whole(distance, 9, 9) == 2);
    CHECK(whole(distance, 9, 10) == 3);
    CHECK(whole(distance, 9, 20) == 4);
    CHECK(read(clipped_bias(2_c, input<"table">), {.q = 9, .kv = 10, .head = 1}) == 301);
    CHECK(read(clipped_bias(2, input<"table">), {.q = 9, .kv = 8, .head = 1}) == 101);
}

TEST_CASE("swin_bias has the relative_position_index of the authors' code") {
    constexpr int index[4][4] = {{4, 3, 1, 0}, {5, 4, 2, 1}, {7, 6, 4, 3}, {8, 7, 5, 4}};
    for (int q = 0; q < 4; ++q) {
        for (int kv = 0; kv < 4; ++kv) {
            CHECK(read(swin_bias(2_c, 2_c, input<"table">), {.q = q, .kv = kv, .head = 1}) == 100 * index[q][kv] + 1);
        }
    }
    // A window of 2 x 3.
    const auto at = [](std::int64_t q, std::int64_t kv) {
        return read(swin_bias(2, 3, input<"table">), {.q = q, .kv = kv}) / 100;
    };
    CHECK(at(0, 5) == 0);
    CHECK(at(5, 0) == 14);
    CHECK(at(1, 3) == 3);
    CHECK(at(4, 4) == 7);
}

TEST_CASE("image_bias clips offsets of rows and columns") {
    // An image 4 wide; the query is row 1, column 1.
    const auto at = [](std::int64_t kv) {
        return read(image_bias(4_c, 1_c, 1_c, input<"table">), {.q = 5, .kv = kv, .head = 2});
    };
    CHECK(at(5) == 402);
    CHECK(at(0) == 802);
    CHECK(at(6) == 302);
    CHECK(at(9) == 102);
    CHECK(at(15) == 2);
    CHECK(read(image_bias(8, 2, 1, input<"table">), {.q = 16, .kv = 0}) == 1300);
}
