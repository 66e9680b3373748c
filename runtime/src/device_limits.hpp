// SPDX-License-Identifier: MIT
//
// What one run of a kernel of a device may be asked for: the sizes of its grids of blocks, and of what it keeps between
// its steps, which is more than its results.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>

#include <heed/kernel_table.hpp>

#include "kernel_arguments.hpp"

namespace heed::detail {

struct device_limits {
    std::int64_t elements;           ///< of a tensor, and of what is computed by a thread for each element
    std::int64_t floats;             ///< of what a kernel keeps
    std::int64_t first_blocks;       ///< along the first axis of a grid
    std::int64_t blocks;             ///< along the others
    std::int64_t turns = INT64_MAX;  ///< of all loops of a thread
};

/// Kernels count bytes in 32 bits. CUDA allows 65535 blocks along all axes but the first, and so do drivers of OpenCL
/// for the same GPUs. Every device of Vulkan has that many along the first, too, where a thread for each element comes
/// in blocks of 128; and 128 MB for a buffer, some no more.
constexpr device_limits limits_of(device_kind device) noexcept {
    constexpr std::int64_t blocks = 65535, floats = halide_limit / 4;
    return device == device_kind::cpu      ? device_limits{halide_limit, INT64_MAX, INT64_MAX, INT64_MAX}
           : device == device_kind::vulkan ? device_limits{blocks * 128, (1 << 27) / 4, blocks, blocks}
                                           : device_limits{floats, floats, halide_limit, blocks};
}

/// What a kernel of a device needs for each group of each batch. Upper bounds, from what the table says of the kernel:
/// generators/src/algorithm_gpu.cpp has what is kept, generators/src/schedule_gpu.cpp the grids.
struct needs_of_group {
    std::int64_t floats = 0;        ///< of the state of all rows: maximum, sum and columns, for each part of the keys
    std::int64_t elements = 0;      ///< of the largest of what is computed by a thread for each element
    std::int64_t first_blocks = 0;  ///< tiles of queries; where parts are merged, of all heads of a group, and queries
    std::int64_t parts = 0;         ///< of the keys
    std::int64_t turns = 0;         ///< of all loops of a thread
};

inline needs_of_group needs_of(const variant_description &variant, const kernel_description &kernel,
                               const call_sizes &sizes) noexcept {
    constexpr std::int64_t most_slices = 16;  // of the columns of a value; each keeps maximum and sum
    const auto ceiling = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const auto product = [](std::initializer_list<std::int64_t> factors) {
        std::int64_t result = 1;
        for (const std::int64_t factor : factors) {
            if (__builtin_mul_overflow(result, factor, &result)) {
                return INT64_MAX;
            }
        }
        return result;
    };
    const gpu_block &block = kernel.block;
    const std::int64_t heads = variant.heads / variant.groups, head_blocks = heads / kernel.heads_per_tile;
    const std::int64_t tiles = ceiling(sizes.q_len, kernel.query_tile / kernel.heads_per_tile);
    const std::int64_t slices = block.threads > 0 && block.rows_of_thread > 0
                                    ? ceiling(std::int64_t{block.threads} * block.rows_of_thread, kernel.query_tile)
                                    : most_slices;
    const std::int64_t parts =
        block.keys_of_part > 0 ? ceiling(std::max<std::int64_t>(sizes.kv_len, 1), block.keys_of_part) : 1;
    const std::int64_t floats_of_row = slices * (2 + ceiling(variant.value_dim, slices));
    // Over dims of a score, by fours if they come so, and over keys for maximum, sum, weighing and weighing again.
    const std::int64_t dims = variant.head_dim % 4 == 0 ? variant.head_dim / 4 : variant.head_dim;
    const std::int64_t turns_of_step = dims + 6 * std::int64_t{kernel.key_tile} + 16;
    // All rows of a tile count, however few are used.
    const std::int64_t rows = product({tiles, head_blocks, kernel.query_tile});
    return {product({rows, floats_of_row, parts}),
            std::max({product({rows, variant.head_dim}), product({parts, sizes.q_len, heads}),
                      product({ceiling(sizes.kv_len, kernel.key_tile), head_blocks})}),
            block.keys_of_part > 0 ? std::max(tiles * head_blocks, sizes.q_len) : tiles, parts,
            product({ceiling(parts == 1 ? sizes.kv_len : block.keys_of_part, kernel.key_tile), turns_of_step})};
}

/// Why no run of the kernel can do so many groups, of all batches together; empty if it can.
inline std::string why_too_many(std::int64_t groups, const needs_of_group &needs, const kernel_description &kernel,
                                const device_limits &limits) {
    const auto refusal = [&](const char *what, std::int64_t count, std::int64_t limit) {
        return text("kernel ", kernel.name, what, count, ", the limit of ", name_of(kernel.device), " is ", limit);
    };
    if (groups > limits.blocks) {
        return refusal(" has a block of threads for each group of each batch, batch * groups is ", groups,
                       limits.blocks);
    }
    if (needs.first_blocks > limits.first_blocks) {
        return refusal(" has a row of blocks of threads for its tiles, their number is ", needs.first_blocks,
                       limits.first_blocks);
    }
    if (needs.parts > limits.blocks) {
        return refusal(" has a block of threads for each part of the keys, their number is ", needs.parts,
                       limits.blocks);
    }
    if (needs.turns > limits.turns) {
        return refusal(" has loops in each thread, their turns are up to ", needs.turns, limits.turns);
    }
    const auto total = [groups](std::int64_t each) {
        std::int64_t all = 0;
        return __builtin_mul_overflow(each, groups, &all) ? INT64_MAX : all;
    };
    if (total(needs.floats) > limits.floats) {
        return refusal(" keeps the state of all rows meanwhile, its floats are ", total(needs.floats), limits.floats);
    }
    if (total(needs.elements) > limits.elements) {
        return refusal(" keeps changed rows meanwhile, their elements are ", total(needs.elements), limits.elements);
    }
    return {};
}

}  // namespace heed::detail
