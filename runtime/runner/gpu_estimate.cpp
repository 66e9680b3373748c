// SPDX-License-Identifier: MIT
#include "gpu_estimate.hpp"

#include <algorithm>
#include <iterator>

#include "shapes.hpp"
#include "visible_pairs.hpp"

namespace heed::runner {

namespace {

constexpr int kib = 1 << 10;

// Processors, f32 rate and DRAM bandwidth: the data sheets "NVIDIA A100 80GB Tensor Core GPU" (SXM: 19.5 TFLOPS,
// 2039 GB/s), "NVIDIA H100 Tensor Core GPU" (SXM: 67 TFLOPS, 3.35 TB/s) and "NVIDIA H200 Tensor Core GPU" (SXM: 67
// TFLOPS, 4.8 TB/s), with the numbers of processors and units of the white papers on their architectures. The clock is
// what these rates follow from. Shared memory of a processor: CUDA C++ Programming Guide, "Technical Specifications per
// Compute Capability".
constexpr gpu_model models[] = {{"A100", 80, 108, 1.41e9, 64, 164 * kib, 2.039e12},
                                {"H100", 90, 132, 1.98e9, 128, 228 * kib, 3.35e12},
                                {"H200", 90, 132, 1.98e9, 128, 228 * kib, 4.8e12}};

// The same for compute capabilities 8.0 and 9.0, from the same table of the guide and "Shared Memory" beside it: 32
// banks of 4 bytes in each clock.
constexpr int warp = 32, most_warps = 64, most_blocks = 32, most_registers = 64 * kib, shared_bytes_per_clock = 128;
// Units that registers and shared memory are given out in, and what the system takes of each block's.
constexpr int registers_unit = 256, warps_unit = 4, shared_unit = 128, shared_by_system = 1 * kib;

constexpr double word = 4;  // bytes of an f32

int rounded_up(int a, int b) { return (a + b - 1) / b * b; }

double divided_up(std::int64_t a, std::int64_t b) {
    const std::int64_t quotient = (a + b - 1) / b;
    return static_cast<double>(quotient);
}

}  // namespace

const std::vector<gpu_model> &gpu_models() {
    static const std::vector<gpu_model> all(std::begin(models), std::end(models));
    return all;
}

bool can_run(const gpu_model &gpu, const kernel_description &kernel) {
    return kernel.device == device_kind::cuda ? gpu.capability >= kernel.device_version
                                              : kernel.device != device_kind::cpu;
}

int registers_of(const gpu_model &gpu, const gpu_block &block) {
    return gpu.capability >= 90 ? block.registers_sm_90 : block.registers_sm_80;
}

gpu_residency residency_of(const gpu_block &block, const gpu_model &gpu) {
    const int warps = std::max(rounded_up(block.threads, warp) / warp, 1);
    const int registers = registers_of(gpu, block);
    // Those of unknown registers are few enough to limit nothing.
    const int registers_of_warp = rounded_up(std::max(registers, 1) * warp, registers_unit);
    const struct {
        const char *name;
        int blocks;
    } limits[] = {{"registers", most_registers / registers_of_warp / warps_unit * warps_unit / warps},
                  {"shared memory", gpu.shared_bytes / rounded_up(block.shared_bytes + shared_by_system, shared_unit)},
                  {"warps", most_warps / warps},
                  {"blocks", most_blocks}};
    const auto *least = std::min_element(std::begin(limits), std::end(limits),
                                         [](const auto &a, const auto &b) { return a.blocks < b.blocks; });
    return {least->blocks, least->blocks * warps, static_cast<double>(least->blocks * warps) / most_warps, least->name,
            registers == 0};
}

gpu_reads reads_of(const gpu_block &block) {
    const double rows = block.rows_of_thread, keys = block.keys_of_thread, columns = block.columns_of_thread;
    // Of one element of a row: keys from shared memory, queries not, for rows * keys products. Of one key: weights and
    // values, for rows * columns.
    return {word * keys / (rows * keys), word * (rows + columns) / (rows * columns), word * rows / (rows * keys)};
}

namespace {

double slices_of(const kernel_description &kernel) {
    return static_cast<double>(kernel.key_tile) / kernel.block.keys_of_thread;
}

double parts_of(const kernel_description &kernel, const call_sizes &sizes) {
    return kernel.block.keys_of_part == 0 ? 1 : divided_up(sizes.kv_len, kernel.block.keys_of_part);
}

// Heads that share tiles are one.
double heads_of(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes) {
    return static_cast<double>(sizes.batch) * divided_up(variant.heads, kernel.heads_per_tile);
}

double query_tiles_of(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes) {
    return heads_of(variant, kernel, sizes) * divided_up(sizes.q_len, rows_per_tile(kernel));
}

double dram_bytes_of(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                     const tile_counts &tiles) {
    const double batch = static_cast<double>(sizes.batch), head_dim = variant.head_dim, value_dim = variant.value_dim;
    const double rows = batch * variant.heads * static_cast<double>(sizes.q_len);
    const double rows_of_tiles = query_tiles_of(variant, kernel, sizes) * kernel.query_tile;
    const double keys = batch * variant.groups * static_cast<double>(sizes.kv_len);
    const double keys_read = static_cast<double>(tiles.read_keys), parts = parts_of(kernel, sizes);
    const auto stored = [](data_type type) { return static_cast<double>(bytes_of(type)); };

    // Queries are scaled into f32, which the main pass reads; tiles of them are whole.
    double bytes = rows * head_dim * stored(kernel.types.query) + rows_of_tiles * head_dim * 2 * word;
    // Keys and values that the declaration changes are changed into f32, from the first to the last that is reached.
    const double changed = std::min(keys, keys_read);
    double key_bytes = head_dim * stored(kernel.types.key), value_bytes = value_dim * stored(kernel.types.value);
    if (variant.readings.modify_key != nullptr) {
        bytes += changed * (key_bytes + head_dim * word);
        key_bytes = head_dim * word;
    }
    if (variant.readings.modify_value != nullptr) {
        bytes += changed * (value_bytes + value_dim * word);
        value_bytes = value_dim * word;
    }
    bytes += keys_read * (key_bytes + value_bytes);
    // What blocks have accumulated, with a maximum and a sum in each slice, is read again.
    bytes += rows_of_tiles * parts * slices_of(kernel) * (kernel.block.columns_of_thread + 2) * word;
    bytes += rows * parts * (value_dim + 2) * word;
    return bytes + rows * value_dim * stored(kernel.types.output);
}

}  // namespace

gpu_work work_of(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
                 const tile_counts &tiles, std::int64_t visible_pairs) {
    const double pairs = static_cast<double>(tiles.mixed + tiles.full) * kernel.query_tile * kernel.key_tile;
    const double score_fmas = pairs * variant.head_dim;
    const double value_fmas = pairs * slices_of(kernel) * kernel.block.columns_of_thread;
    const gpu_reads reads = reads_of(kernel.block);

    gpu_work work{};
    work.blocks = query_tiles_of(variant, kernel, sizes) * parts_of(kernel, sizes);
    work.flops = static_cast<double>(visible_pairs) * flops_per_pair(variant);
    work.fmas = score_fmas + value_fmas;
    work.shared_bytes = score_fmas * reads.shared_by_scores + value_fmas * reads.shared_by_values;
    work.dram_bytes = dram_bytes_of(variant, kernel, sizes, tiles);
    return work;
}

double gpu_bounds::longest() const { return std::max({compute, shared_memory, dram}); }

const char *gpu_bounds::expected() const {
    return longest() == compute ? "compute" : longest() == shared_memory ? "shared memory" : "DRAM";
}

gpu_bounds bounds_of(const gpu_work &work, const gpu_model &gpu) {
    const double clocks = gpu.clock * std::max(std::min<double>(gpu.processors, work.blocks), 1.0);
    return {work.fmas / (clocks * gpu.fmas_per_clock), work.shared_bytes / (clocks * shared_bytes_per_clock),
            work.dram_bytes / gpu.dram_bytes_per_second};
}

}  // namespace heed::runner
