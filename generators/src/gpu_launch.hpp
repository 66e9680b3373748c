// SPDX-License-Identifier: MIT
//
// How a compiled kernel is launched, read from Halide's lowered statement.
#pragma once

#include <Halide.h>

#include <string>

namespace heed::generators {

struct gpu_launch {
    std::string entry;  ///< the kernel's name in the code for the device
    int threads = 0;    ///< of a block
    int shared_bytes = 0;
};

/// Of the compiled kernels, the one whose blocks share the most bytes.
gpu_launch main_launch_of(const Halide::Module &module);

}  // namespace heed::generators
