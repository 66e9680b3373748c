// SPDX-License-Identifier: MIT
//
// The schedule for many queries on a CPU, and the tiles that it wants on each instruction set.
#pragma once

#include "algorithm.hpp"

namespace heed::generators {

/// Rows of the two matrix products that are held in vector registers, beside `keys_together` keys or `columns` values.
struct register_tile {
    int lanes;          ///< floats in a vector
    int query_vectors;  ///< vectors of query rows
};

struct prefill_tiles {
    tile_shape tile;
    register_tile registers;
};

/// Instruction sets with a schedule, the best first, by the names of the kernel table.
const std::vector<std::string> &prefill_isas();

/// The instruction set that a target belongs to. Throws std::invalid_argument if none does.
std::string prefill_isa(const Halide::Target &target);

prefill_tiles prefill_tiles_for(const variant_source &variant, const std::string &isa, const storage_types &types);

void schedule_cpu_prefill(softmax_attention &attention, const register_tile &registers);

}  // namespace heed::generators
