// SPDX-License-Identifier: MIT
#include "gpu_tiles.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>

#include "whole_numbers.hpp"

namespace heed::generators {

namespace {

/// What Halide makes of the schedule: the state, the sums and maxima, and two places that tiles take in turn.
int estimated_bytes(const variant_source &variant, const gpu_tiles &tiles) {
    const int rows = tiles.tile.rows, keys = tiles.tile.keys, slices = tiles.tile.slices;
    const int columns = rounded_up(variant.value_dim, slices);
    const int pairs = rows * keys * (variant.weight_factor ? 2 : 1);
    const int state = rows * (columns + 2 * slices);
    const int places = std::max(keys * variant.head_dim, pairs) + std::max(keys * columns, pairs);
    return 4 * (state + places + 2 * rows);
}

/// Sums of weighted values that a thread holds in registers. With more they spill, and Halide takes minutes.
constexpr int most_sums = 128;

int rows_of_thread(const gpu_tiles &tiles) { return tiles.tile.rows / tiles.row_threads; }

int sums_of_thread(const variant_source &variant, const gpu_tiles &tiles) {
    return rows_of_thread(tiles) * divided_up(variant.value_dim, tiles.tile.slices);
}

bool fits(const variant_source &variant, const gpu_tiles &tiles, int shared_bytes) {
    return estimated_bytes(variant, tiles) <= shared_bytes && sums_of_thread(variant, tiles) <= most_sums;
}

/// There are no smaller ones.
[[noreturn]] void refuse_tiles(const variant_source &variant, const gpu_tiles &smallest, int shared_bytes) {
    const auto text = [](int number) { return std::to_string(number); };
    throw std::invalid_argument(
        variant.name + ": a tile of " + text(smallest.tile.rows) + " rows of queries and " + text(smallest.tile.keys) +
        " keys, of head_dim " + text(variant.head_dim) + " and value_dim " + text(variant.value_dim) + ", needs " +
        text(estimated_bytes(variant, smallest)) + " bytes of memory that a block of threads shares, and " +
        text(sums_of_thread(variant, smallest)) + " sums in the registers of a thread; devices have " +
        text(shared_bytes) + ", and " + text(most_sums) +
        " are the most. Fix: leave this target out, or make head_dim and value_dim smaller");
}

}  // namespace

gpu_tiles gpu_prefill_tiles_for(const variant_source &variant, int shared_bytes) {
    // A thread's products need less of shared memory the more rows and keys it has. What is measured of them so far are
    // instructions (sm_80, head_dim 64): 80 % of those of both products are multiplications and additions.
    constexpr gpu_tiles wanted[] = {{{64, 32, 8}, 16}, {{32, 32, 8}, 8}, {{32, 16, 8}, 8}, {{16, 16, 8}, 8},
                                    {{16, 8, 8}, 8},   {{8, 8, 8}, 8},   {{8, 4, 4}, 8},   {{4, 4, 4}, 4},
                                    {{2, 2, 2}, 2},    {{1, 1, 1}, 1}};
    for (const gpu_tiles &tiles : wanted) {
        if (fits(variant, tiles, shared_bytes)) return tiles;
    }
    refuse_tiles(variant, std::end(wanted)[-1], shared_bytes);
}

// As many heads share a tile as fit. A part is 512 keys, as on CPUs: 16 of them and 8 groups are 128 blocks for 8192
// keys, about as many as large GPUs run at once. Not measured yet.
gpu_tiles gpu_decode_tiles_for(const variant_source &variant, int shared_bytes) {
    constexpr int keys_of_part = 512, most_rows = 64;
    const int heads = variant.heads / variant.groups;
    gpu_tiles tiles;
    // Rows of a tile, about: with fewer, most threads would wait for others to read. With more, a decode step of one
    // query would be bound by the products of rows that it does not have: on an H200, 67 TFLOPS and 4.8 TB/s are 28
    // rows of f32 keys and values at most. Rows of long elements leave room for few.
    for (const int rows_wanted : {16, 8, 4, 2, 1}) {
        for (int together = std::min(heads, most_rows); together > 0; --together) {
            if (heads % together != 0) continue;
            const int rows = together * std::max(rows_wanted / together, 1);
            for (const auto &[keys, slices] : {std::pair(32, 16), std::pair(32, 8), std::pair(16, 8), std::pair(8, 8),
                                               std::pair(4, 4), std::pair(1, 1)}) {
                if (keys == 1 && rows > 1) continue;
                tiles.tile = {rows, keys, slices, together, keys_of_part / keys};
                tiles.row_threads = rows / (rows % 4 == 0 && rows > 32 ? 4 : rows % 2 == 0 ? 2 : 1);
                while (rows_of_thread(tiles) > 1 && sums_of_thread(variant, tiles) > most_sums) tiles.row_threads *= 2;
                if (fits(variant, tiles, shared_bytes)) return tiles;
            }
        }
    }
    refuse_tiles(variant, tiles, shared_bytes);
}

}  // namespace heed::generators
