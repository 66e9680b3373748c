// SPDX-License-Identifier: MIT
//
// The schedule for GPUs, and the tiles that it wants for many queries; those for few stand in schedule_gpu_decode.hpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithm_gpu.hpp"

namespace heed::generators {

/// A tile of queries belongs to a block of row_threads x tile.slices threads: a thread computes some rows for some
/// keys, then for a slice of value columns.
struct gpu_tiles {
    gpu_tile_shape tile;
    int row_threads;
};

/// A target of heed_add_kernels that is no CPU.
struct gpu_target {
    std::string name;    ///< as heed_add_kernels takes it
    std::string isa;     ///< as the kernel table has it
    std::string device;  ///< as heed::device_kind has it
    std::string halide_target;
    int version;       ///< that the device must have, as heed::device counts them
    int shared_bytes;  ///< that a block of threads shares, at most
};

/// Null if there is none of this name.
const gpu_target *find_gpu_target(const std::string &name);

/// Back ends with a schedule, by the names of the kernel table; the best first.
const std::vector<std::string> &gpu_isas();

/// The tiles for rows of these lengths. Throws std::invalid_argument if no tile fits the shared memory.
gpu_tiles gpu_tiles_for(const variant_source &variant, int shared_bytes);

/// Whether a block's share of memory is enough for these tiles, and what is said where no smaller ones are.
bool fits_shared_memory(const variant_source &variant, const gpu_tiles &tiles, int shared_bytes);
[[noreturn]] void refuse_tiles(const variant_source &variant, const gpu_tiles &smallest, int shared_bytes);

/// e^x for x <= 0 or NaN, as this kind of device computes it best.
std::function<Halide::Expr(const Halide::Expr &)> gpu_exponential(const std::string &isa);

void schedule_gpu_prefill(gpu_attention &attention, const gpu_tiles &tiles);

/// How a compiled kernel is launched.
struct gpu_launch {
    std::string entry;  ///< the kernel's name in the code for the device
    int threads = 0;    ///< of a block
    int shared_bytes = 0;
};

/// Of the compiled kernels, the one whose blocks share the most bytes.
gpu_launch main_launch_of(const Halide::Module &module);

}  // namespace heed::generators
