// SPDX-License-Identifier: MIT
//
// The schedule for many queries on a CPU.
#pragma once

#include "algorithm.hpp"

namespace heed::generators {

/// What the schedule needs to know of an instruction set.
struct register_tile {
    int lanes;          ///< floats in a vector
    int query_vectors;  ///< vectors of queries held in registers
    int keys;           ///< keys (scores) or value columns (weighted values) held beside them
};

void schedule_cpu_prefill(softmax_attention &attention, const register_tile &registers);

}  // namespace heed::generators
