// SPDX-License-Identifier: MIT
//
// What a kernel of a GPU can reach at best, from its tiles, its registers and the data sheet of a device: how many of
// its threads a processor holds, and the least time that its multiplications, its reads of shared memory and its bytes
// of DRAM take. Nothing is measured, and what only costs time, exponentials and waiting among it, is not in it.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <vector>

#include "tile_map.hpp"

namespace heed::runner {

/// A GPU as its maker describes it. "Processor" is a streaming multiprocessor.
struct gpu_model {
    const char *name;
    int capability;  ///< ten times the compute capability
    int processors;
    double clock;        ///< Hz, at boost
    int fmas_per_clock;  ///< f32, of a processor
    int shared_bytes;    ///< of a processor, for all of its blocks
    double dram_bytes_per_second;
};

/// The GPUs that `explain` knows.
const std::vector<gpu_model> &gpu_models();

/// Whether a kernel runs on it: those for OpenCL and Vulkan do on all.
bool can_run(const gpu_model &gpu, const kernel_description &kernel);

/// Of a thread, 0 if unknown.
int registers_of(const gpu_model &gpu, const gpu_block &block);

/// What a processor holds at once of a kernel.
struct gpu_residency {
    int blocks, warps;
    double occupancy;        ///< warps, as a part of those that a processor has room for
    const char *limit;       ///< what there is too little of for another block
    bool registers_unknown;  ///< then they limit nothing, and the numbers above are the most that may be
};

/// By the rules of the CUDA C++ Programming Guide for compute capabilities 8.0 and 9.0.
gpu_residency residency_of(const gpu_block &block, const gpu_model &gpu);

/// Bytes of memory that threads read for each multiplication with addition of the two products, <query, key> and
/// weights times values. As many as threads ask for: where several of a warp ask for the same, a GPU may move fewer.
struct gpu_reads {
    double shared_by_scores, shared_by_values;
    double cached_by_scores;  ///< of queries, by way of the L1 cache
};

gpu_reads reads_of(const gpu_block &block);

/// The work of a call on a GPU.
struct gpu_work {
    double blocks;        ///< of threads, that may run at once
    double flops;         ///< of the pairs that attend
    double fmas;          ///< of both products, in all of the tiles that are not skipped
    double shared_bytes;  ///< read by both products
    double dram_bytes;    ///< each pass over the tensors reads and writes each of its own once

    double flops_per_byte() const { return dram_bytes > 0 ? flops / dram_bytes : 0; }
};

gpu_work work_of(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                 const tile_counts &tiles, std::int64_t visible_pairs);

/// The least seconds that each of the three needs by itself. A call with fewer blocks than the GPU has processors
/// leaves the others idle.
struct gpu_bounds {
    double compute, shared_memory, dram;

    double longest() const;
    const char *expected() const;  ///< the name of the longest
};

gpu_bounds bounds_of(const gpu_work &work, const gpu_model &gpu);

}  // namespace heed::runner
