// SPDX-License-Identifier: MIT
//
// Which pairs of a call attend: counted for FLOPs, written out as a mask for PyTorch.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <vector>

namespace heed::runner {

/// Number of pairs (batch, head, row, key) that attend. Large tiles are classified by the range reading, which is
/// sound; what it leaves open is counted pair by pair.
std::int64_t count_visible_pairs(const variant_description &variant, const call_sizes &sizes,
                                 const input_reader &reader);

/// 4 * head_dim per pair; 2 * (head_dim + value_dim) where they differ.
double flops_per_pair(const variant_description &variant);

/// The pairs of one head of one batch entry: q_len rows of kv_len bytes, 1 where the pair attends.
std::vector<std::uint8_t> visible_mask(const variant_description &variant, const call_sizes &sizes, std::int64_t batch,
                                       std::int64_t head, const input_reader &reader);

}  // namespace heed::runner
