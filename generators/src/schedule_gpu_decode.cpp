// SPDX-License-Identifier: MIT
#include "schedule_gpu_decode.hpp"

#include <algorithm>

namespace heed::generators {

namespace {

/// Rows of a tile, at least: with fewer, most threads would wait for others to read.
constexpr int fewest_rows = 16;

int positions_of_tile(const variant_source &variant) {
    return std::max(fewest_rows / (variant.heads / variant.groups), 1);
}

}  // namespace

int most_queries_decoded_by_gpu(const variant_source &variant) { return positions_of_tile(variant); }

// As many heads share a tile as fit. A part is 512 keys, as on CPUs: 16 of them and 8 groups are 128 blocks for 8192
// keys, about as many as large GPUs run at once. Not measured yet.
gpu_tiles gpu_decode_tiles_for(const variant_source &variant, int shared_bytes) {
    constexpr int keys_of_part = 512;
    constexpr int most_rows = 64, most_sums = 128;  // of a thread: more spill
    const int heads = variant.heads / variant.groups;
    gpu_tiles tiles;
    for (int together = std::min(heads, most_rows); together > 0; --together) {
        if (heads % together != 0) continue;
        const int rows = together * positions_of_tile(variant);
        for (const auto &[keys, slices] : {std::pair(32, 16), std::pair(32, 8), std::pair(16, 8), std::pair(8, 8),
                                           std::pair(4, 4), std::pair(1, 1)}) {
            if (keys == 1 && together > 1) continue;
            const int columns = (variant.value_dim + slices - 1) / slices;
            int rows_each = rows % 4 == 0 && rows > 32 ? 4 : rows % 2 == 0 ? 2 : 1;
            while (rows_each > 1 && rows_each * columns > most_sums) rows_each /= 2;
            tiles.tile = {rows, keys, slices, together, keys_of_part / keys};
            tiles.row_threads = rows / rows_each;
            if ((keys == 1 || rows_each * columns <= most_sums) && fits_shared_memory(variant, tiles, shared_bytes)) {
                return tiles;
            }
        }
    }
    refuse_tiles(variant, tiles, shared_bytes);
}

}  // namespace heed::generators
