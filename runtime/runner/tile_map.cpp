// SPDX-License-Identifier: MIT
#include "tile_map.hpp"

#include <algorithm>
#include <atomic>

#include "parallel.hpp"
#include "shapes.hpp"

namespace heed::runner {

namespace {

std::int64_t divide_up(std::int64_t count, std::int64_t by) { return (count + by - 1) / by; }

char letter_of(tile_class kind) { return kind == tile_class::empty ? '.' : kind == tile_class::full ? '#' : '/'; }

// The class that stands for all tiles of a rectangle.
tile_class summary(const tile_map &map, std::int64_t row, std::int64_t column, std::int64_t rows,
                   std::int64_t columns) {
    const tile_class first = map.at(row, column);
    for (std::int64_t r = row; r < std::min(row + rows, map.height); ++r)
        for (std::int64_t c = column; c < std::min(column + columns, map.width); ++c)
            if (map.at(r, c) != first) return tile_class::mixed;
    return first;
}

// As kernels do: the last tiles count with the rows that they lack, and with the keys they lack unless the question is
// whether all pairs attend.
tile_class class_in_kernel(const variant_description &variant, const call_sizes &sizes, const tile_bounds &whole,
                           const input_reader &reader) {
    tile_bounds with_keys = whole;
    with_keys.key_count = std::min(whole.key_count, sizes.kv_len - whole.first_key);
    if (variant.readings.classify(sizes, whole, reader) == tile_class::empty) return tile_class::empty;
    const tile_class kind = variant.readings.classify(sizes, with_keys, reader);
    return kind == tile_class::full ? kind : tile_class::mixed;
}

}  // namespace

tile_map make_tile_map(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                       std::int64_t batch, std::int64_t head, const input_reader &reader) {
    const std::int64_t heads = kernel.heads_per_tile;
    tile_map map{rows_per_tile(kernel), kernel.key_tile, heads, 0, 0, {}};
    map.height = divide_up(sizes.q_len, map.rows_per_tile);
    map.width = divide_up(sizes.kv_len, map.keys_per_tile);
    map.tiles.resize(static_cast<std::size_t>(map.height * map.width));
    for (std::int64_t r = 0; r < map.height; ++r)
        for (std::int64_t c = 0; c < map.width; ++c) {
            const std::int64_t first_row = r * map.rows_per_tile, first_key = c * map.keys_per_tile;
            map.tiles[static_cast<std::size_t>(r * map.width + c)] = class_in_kernel(
                variant, sizes,
                {batch, head / heads * heads, heads, first_row, map.rows_per_tile, first_key, map.keys_per_tile},
                reader);
        }
    return map;
}

tile_counts count_tiles(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                        const input_reader &reader) {
    const std::int64_t heads = kernel.heads_per_tile, blocks = variant.heads / heads;
    const std::int64_t blocks_of_group = blocks / variant.groups, width = divide_up(sizes.kv_len, kernel.key_tile);
    std::atomic<std::int64_t> empty{0}, mixed{0}, full{0}, pairs{0};
    const auto keys_of = [&](std::int64_t tile) {
        return std::min<std::int64_t>(kernel.key_tile, sizes.kv_len - tile * kernel.key_tile);
    };
    // Of each group, which tiles of keys any of its heads has.
    std::vector<std::atomic<bool>> is_read(static_cast<std::size_t>(sizes.batch * variant.groups * width));
    parallel_for(sizes.batch * blocks, [&](std::int64_t i) {
        const tile_map map = make_tile_map(variant, kernel, sizes, i / blocks, i % blocks * heads, reader);
        for (std::int64_t r = 0; r < map.height; ++r)
            for (std::int64_t c = 0; c < map.width; ++c) {
                const tile_class kind = map.at(r, c);
                ++(kind == tile_class::empty ? empty : kind == tile_class::mixed ? mixed : full);
                if (kind == tile_class::empty) continue;
                is_read[static_cast<std::size_t>(i / blocks_of_group * width + c)] = true;
                pairs += heads * std::min(map.rows_per_tile, sizes.q_len - r * map.rows_per_tile) * keys_of(c);
            }
    });
    std::int64_t read_keys = 0;
    for (std::size_t i = 0; i < is_read.size(); ++i)
        if (is_read[i]) read_keys += keys_of(static_cast<std::int64_t>(i) % width);
    return {empty, mixed, full, pairs, read_keys};
}

std::string tile_text(const tile_map &map, int columns) {
    // Characters are about twice as high as wide.
    const std::int64_t lines = std::max(1, columns / 2);
    const std::int64_t across = std::max<std::int64_t>(1, divide_up(map.width, columns));
    const std::int64_t down = std::max<std::int64_t>(1, divide_up(map.height, lines));
    std::string text;
    for (std::int64_t r = 0; r < map.height; r += down) {
        text += "    ";
        for (std::int64_t c = 0; c < map.width; c += across) text += letter_of(summary(map, r, c, down, across));
        text += "\n";
    }
    return text;
}

}  // namespace heed::runner
