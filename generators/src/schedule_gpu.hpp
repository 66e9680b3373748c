// SPDX-License-Identifier: MIT
//
// The schedule for GPUs; gpu_tiles.hpp has the tiles that it wants for many queries and for few.
#pragma once

#include "algorithm_gpu.hpp"
#include "gpu_tiles.hpp"

namespace heed::generators {

void schedule_gpu(gpu_attention &attention, const gpu_tiles &tiles);

}  // namespace heed::generators
