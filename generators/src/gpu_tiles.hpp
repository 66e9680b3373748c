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

/// How many queries a call may have before the tiles for many are the better ones: they fill a tile for few.
int most_queries_decoded_by_gpu(const variant_source &variant);

}  // namespace heed::generators
