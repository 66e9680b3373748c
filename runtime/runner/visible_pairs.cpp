// SPDX-License-Identifier: MIT
#include "visible_pairs.hpp"

#include <algorithm>
#include <atomic>

#include "parallel.hpp"

namespace heed::runner {

namespace {

// Tiles of at most this many rows and keys are read pair by pair.
constexpr std::int64_t leaf = 16;

struct walk {
    const variant_description &variant;
    const call_sizes &sizes;
    const input_reader &reader;
    std::int64_t query_start;

    // Calls full(tile) for tiles whose pairs all attend, and pair(head, row, key) for each other pair that does.
    template <typename Full, typename Pair>
    void visit(const tile_bounds &tile, const Full &full, const Pair &pair) const {
        if (tile.head_count == 0 || tile.row_count == 0 || tile.key_count == 0) return;
        switch (variant.readings.classify(sizes, tile, reader)) {
            case tile_class::empty:
                return;
            case tile_class::full:
                full(tile);
                return;
            case tile_class::mixed:
                break;
        }
        if (tile.row_count <= leaf && tile.key_count <= leaf) return visit_pairs(tile, pair);
        tile_bounds first = tile, second = tile;
        if (tile.row_count >= tile.key_count) {
            first.row_count = tile.row_count / 2;
            second.first_row += first.row_count;
            second.row_count -= first.row_count;
        } else {
            first.key_count = tile.key_count / 2;
            second.first_key += first.key_count;
            second.key_count -= first.key_count;
        }
        visit(first, full, pair);
        visit(second, full, pair);
    }

    template <typename Pair>
    void visit_pairs(const tile_bounds &tile, const Pair &pair) const {
        for (std::int64_t h = tile.first_head; h < tile.first_head + tile.head_count; ++h)
            for (std::int64_t r = tile.first_row; r < tile.first_row + tile.row_count; ++r)
                for (std::int64_t k = tile.first_key; k < tile.first_key + tile.key_count; ++k)
                    if (variant.readings.attends(sizes, {tile.batch, h, query_start + r, k}, reader)) pair(h, r, k);
    }
};

// Rows in strips, so that all cores take part.
constexpr std::int64_t strip = 256;

template <typename Body>
void for_strips(std::int64_t rows, const Body &body) {
    parallel_for((rows + strip - 1) / strip,
                 [&](std::int64_t i) { body(i * strip, std::min(strip, rows - i * strip)); });
}

}  // namespace

std::int64_t count_visible_pairs(const variant_description &variant, const call_sizes &sizes,
                                 const input_reader &reader) {
    std::atomic<std::int64_t> total{0};
    for (std::int64_t batch = 0; batch < sizes.batch; ++batch) {
        const walk tiles{variant, sizes, reader, variant.readings.query_start(sizes, batch, reader)};
        for_strips(sizes.q_len, [&](std::int64_t first_row, std::int64_t row_count) {
            std::int64_t count = 0;
            tiles.visit(
                {batch, 0, variant.heads, first_row, row_count, 0, sizes.kv_len},
                [&](const tile_bounds &tile) { count += tile.head_count * tile.row_count * tile.key_count; },
                [&](std::int64_t, std::int64_t, std::int64_t) { ++count; });
            total += count;
        });
    }
    return total;
}

double flops_per_pair(const variant_description &variant) {
    return 2.0 * (static_cast<double>(variant.head_dim) + variant.value_dim);
}

std::vector<std::uint8_t> visible_mask(const variant_description &variant, const call_sizes &sizes, std::int64_t batch,
                                       std::int64_t head, const input_reader &reader) {
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(sizes.q_len * sizes.kv_len), 0);
    const walk tiles{variant, sizes, reader, variant.readings.query_start(sizes, batch, reader)};
    for_strips(sizes.q_len, [&](std::int64_t first_row, std::int64_t row_count) {
        tiles.visit(
            {batch, head, 1, first_row, row_count, 0, sizes.kv_len},
            [&](const tile_bounds &tile) {
                for (std::int64_t r = tile.first_row; r < tile.first_row + tile.row_count; ++r)
                    std::fill_n(mask.begin() + r * sizes.kv_len + tile.first_key, tile.key_count, std::uint8_t{1});
            },
            [&](std::int64_t, std::int64_t r, std::int64_t k) {
                mask[static_cast<std::size_t>(r * sizes.kv_len + k)] = 1;
            });
    });
    return mask;
}

}  // namespace heed::runner
