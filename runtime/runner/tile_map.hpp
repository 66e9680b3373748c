// SPDX-License-Identifier: MIT
//
// The tile map: which tiles of queries and keys a kernel skips, masks or runs plain, as the range reading classifies
// them.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace heed::runner {

/// Tiles of all heads and batch entries, by class.
struct tile_counts {
    std::int64_t empty = 0, mixed = 0, full = 0;
    std::int64_t executed_pairs = 0;  ///< pairs of query and key in the mixed and full ones
    std::int64_t read_keys = 0;       ///< of all groups, that any of these tiles has
};

/// The tiles of one head of one batch entry.
struct tile_map {
    std::int64_t rows_per_tile, keys_per_tile, heads_per_tile;
    std::int64_t height, width;  ///< in tiles
    std::vector<tile_class> tiles;

    tile_class at(std::int64_t row, std::int64_t column) const {
        return tiles[static_cast<std::size_t>(row * width + column)];
    }
};

tile_counts count_tiles(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                        const input_reader &reader);

/// The map of the heads that share tiles with `head`.
tile_map make_tile_map(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                       std::int64_t batch, std::int64_t head, const input_reader &reader);

/// One character a tile: '.' empty, '/' mixed, '#' full. A map of more than `columns` tiles across or `columns` / 2
/// down is scaled down: a character then stands for several tiles, '/' unless all are of one class.
std::string tile_text(const tile_map &map, int columns);

/// Writes the map as a PNG, every tile a square of the same size, about 512 pixels wide. Throws std::runtime_error.
void write_tile_picture(const tile_map &map, const std::string &path);

}  // namespace heed::runner
