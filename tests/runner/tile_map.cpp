// SPDX-License-Identifier: MIT
#include "tile_map.hpp"

#include <doctest/doctest.h>

#include "fake_library.hpp"

using namespace heed;

namespace {

std::int64_t at_top(const call_sizes &, std::int64_t, const input_reader &) { return 0; }

// Keys and queries of the same position: what the range reading says of `q_pos == kv_pos`.
tile_class diagonal(const call_sizes &, const tile_bounds &tile, const input_reader &) {
    const std::int64_t last_row = tile.first_row + tile.row_count - 1, last_key = tile.first_key + tile.key_count - 1;
    if (last_row < tile.first_key || last_key < tile.first_row) return tile_class::empty;
    return tile.row_count == 1 && tile.key_count == 1 ? tile_class::full : tile_class::mixed;
}

// `kv_pos < kv_len`, as a declaration may write it.
tile_class within(const call_sizes &sizes, const tile_bounds &tile, const input_reader &) {
    return tile.first_key + tile.key_count <= sizes.kv_len ? tile_class::full : tile_class::mixed;
}

runner::tile_map map_of(decltype(variant_readings::classify) classify, const call_sizes &sizes) {
    // Tiles of 4 rows (8 rows of 2 heads) x 12 keys.
    variant_description variant = fakes::library(fakes::mistake::none).variants[1];
    variant.readings.classify = classify;
    variant.readings.query_start = at_top;
    return runner::make_tile_map(variant, variant.kernels[0], sizes, 0, 0, {});
}

}  // namespace

TEST_CASE("the last tile of keys is full if the keys that exist all attend") {
    const runner::tile_map map = map_of(within, {1, 4, 13});
    REQUIRE(map.width == 2);
    CHECK(map.at(0, 1) == tile_class::full);
}

TEST_CASE("a tile runs for rows and keys that only fill it up, as the kernel's does") {
    // The last of 3 tiles of queries has row 8, and is classified as rows 8 to 11.
    const runner::tile_map rows = map_of(diagonal, {1, 9, 24});
    REQUIRE(rows.height == 3);
    CHECK(rows.at(2, 0) == tile_class::mixed);
    CHECK(rows.at(2, 1) == tile_class::empty);
    // Key 0 alone, and rows 4 to 7: only keys beyond the last could match.
    const runner::tile_map keys = map_of(diagonal, {1, 8, 1});
    CHECK(keys.at(1, 0) == tile_class::mixed);
    // One row and one key are 4 rows and one key to the kernel.
    CHECK(map_of(diagonal, {1, 1, 1}).at(0, 0) == tile_class::mixed);
}

TEST_CASE("keys are read once for all heads of a group and tiles of queries that have them") {
    variant_description variant = fakes::library(fakes::mistake::none).variants[1];
    variant.readings.query_start = at_top;
    variant.readings.classify = diagonal;
    const auto keys_read = [&](const call_sizes &sizes) {
        return runner::count_tiles(variant, variant.kernels[0], sizes, {}).read_keys;
    };
    // 2 groups. Rows 0 to 7 meet the first 12 keys alone; rows 0 to 15 also the other 3.
    CHECK(keys_read({1, 8, 15}) == 2 * 12);
    CHECK(keys_read({1, 16, 15}) == 2 * 15);
    CHECK(keys_read({3, 16, 15}) == 3 * 2 * 15);
}
