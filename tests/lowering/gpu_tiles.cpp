// SPDX-License-Identifier: MIT
//
// Tiles of GPUs: any size of rows gets tiles that fit, or is refused before Halide sees them.
#include <gpu_tiles.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

using namespace heed::generators;

namespace {

constexpr int shared_bytes = 48 << 10;

variant_source rows_of(int head_dim, int value_dim, int heads_of_group = 4) {
    variant_source variant;
    variant.name = "wide";
    variant.heads = 2 * heads_of_group;
    variant.groups = 2;
    variant.head_dim = head_dim;
    variant.value_dim = value_dim;
    return variant;
}

void check(const variant_source &variant, const gpu_tiles &tiles) {
    CAPTURE(variant.value_dim);
    CHECK(tiles.tile.rows % tiles.row_threads == 0);
    CHECK(tiles.tile.keys % tiles.tile.slices == 0);
    CHECK(tiles.row_threads * tiles.tile.slices <= 1024);
    const int columns = (variant.value_dim + tiles.tile.slices - 1) / tiles.tile.slices;
    CHECK(tiles.tile.rows / tiles.row_threads * columns <= 128);
}

}  // namespace

TEST_CASE("threads hold no more sums than registers, whatever the size of rows") {
    for (int value_dim = 1; value_dim <= 512; ++value_dim) {
        const variant_source variant = rows_of(64, value_dim);
        check(variant, gpu_prefill_tiles_for(variant, shared_bytes));
        check(variant, gpu_decode_tiles_for(variant, shared_bytes));
    }
}

TEST_CASE("few queries fill tiles, however many heads share keys and values") {
    for (int heads = 1; heads <= 128; ++heads) {
        CAPTURE(heads);
        for (const int size : {64, 128}) {
            for (const int bytes : {shared_bytes, 32 << 10}) {
                const variant_source variant = rows_of(size, size, heads);
                const gpu_tiles tiles = gpu_decode_tiles_for(variant, bytes);
                check(variant, tiles);
                CHECK(tiles.tile.rows > 8);
                CHECK(heads % tiles.tile.heads_per_tile == 0);
                CHECK(tiles.tile.rows % tiles.tile.heads_per_tile == 0);
            }
        }
    }
}

TEST_CASE("larger rows than tiles can have are refused, with all numbers") {
    for (const auto tiles_for : {gpu_prefill_tiles_for, gpu_decode_tiles_for}) {
        std::string refusal;
        try {
            tiles_for(rows_of(1024, 1024), shared_bytes);
        } catch (const std::invalid_argument &error) {
            refusal = error.what();
        }
        for (const char *part : {"wide: a tile of ", "head_dim 1024 and value_dim 1024", "1024 sums in the registers",
                                 "devices have 49152, and 128 are the most", "Fix: leave this target out"}) {
            CAPTURE(part);
            CHECK(refusal.find(part) != std::string::npos);
        }
    }
}
