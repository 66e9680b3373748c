// SPDX-License-Identifier: MIT
//
// The targets that are no CPU, and what devices of each have.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

namespace heed::generators {

/// A target of heed_add_kernels that is no CPU.
struct gpu_target {
    std::string name;    ///< as heed_add_kernels takes it
    std::string isa;     ///< as the kernel table has it
    std::string device;  ///< as heed::device_kind has it
    std::string halide_target;
    int version;                                         ///< that the device must have, as heed::device counts them
    int shared_bytes;                                    ///< that a block of threads shares, at most
    bool converts_f16;                                   ///< by instructions of its own
    Halide::Expr (*exponential)(const Halide::Expr &x);  ///< e^x for x <= 0 or NaN, as it is computed best
};

/// Null if there is none of this name.
const gpu_target *find_gpu_target(const std::string &name);

/// Back ends with a schedule, by the names of the kernel table; the best first.
const std::vector<std::string> &gpu_isas();

}  // namespace heed::generators
