// SPDX-License-Identifier: MIT
//
// Few queries on a GPU: the tiles that they want. Loops and threads are those of schedule_gpu_prefill.hpp.
#pragma once

#include <string>

#include "schedule_gpu_prefill.hpp"

namespace heed::generators {

/// How many queries a call may have before the other schedule is the better one: they fill a tile.
int most_queries_decoded_by_gpu(const variant_source &variant);

/// Tiles of all heads of a group, so that they share what is read, and of a part of the keys, so that few queries
/// occupy all of a GPU. Throws std::invalid_argument if no tile fits.
gpu_tiles gpu_decode_tiles_for(const variant_source &variant, int shared_bytes);

}  // namespace heed::generators
