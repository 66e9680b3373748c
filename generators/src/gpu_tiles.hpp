// SPDX-License-Identifier: MIT
//
// The tiles that kernels for GPUs have: for many queries (prefill) and for few (decode).
#pragma once

#include "algorithm_gpu.hpp"

namespace heed::generators {

/// A tile of queries belongs to a block of row_threads x tile.slices threads: a thread computes some rows for some
/// keys, then for a slice of value columns.
struct gpu_tiles {
    gpu_tile_shape tile;
    int row_threads;
};

/// For many queries. Throws std::invalid_argument if no tile fits the shared memory.
gpu_tiles gpu_prefill_tiles_for(const variant_source &variant, int shared_bytes);

/// For few: tiles of all heads of a group, so that they share what is read, and of a part of the keys, so that few
/// queries occupy all of a GPU. Throws std::invalid_argument if no tile fits.
gpu_tiles gpu_decode_tiles_for(const variant_source &variant, int shared_bytes);

/// How many queries a call may have before the tiles for many are the better ones. With as many, a tile of 64 rows of
/// one head is three quarters empty, and heads that share keys and values read them once each. Tiles for few then are
/// several, of the same part of the keys: of 64 / 8 heads they are 2 for 3 queries, which read 2 * 8 times what a head
/// reads, not 64 times.
constexpr int most_queries_decoded_by_gpu = 16;

}  // namespace heed::generators
