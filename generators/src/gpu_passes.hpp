// SPDX-License-Identifier: MIT
//
// What Halide 21 lowers for GPUs and some of them cannot take.
#pragma once

#include <Halide.h>

namespace heed::generators {

/// Adds the passes that kernels of the target need, if any, to those of Halide.
void add_gpu_passes(Halide::Pipeline &pipeline, const Halide::Target &target);

}  // namespace heed::generators
