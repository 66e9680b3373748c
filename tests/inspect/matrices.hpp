// SPDX-License-Identifier: MIT
//
// Small attention matrices, written out row by row.
#pragma once

#include <heed/inspect.hpp>

#include <cstdint>
#include <vector>

/// Weights (1, heads, q_len, kv_len) with the memory that they lie in.
struct matrices {
    std::vector<float> values;
    heed::inspect::attention of;

    matrices(std::int64_t heads, std::int64_t q_len, std::int64_t kv_len, std::vector<float> numbers)
        : values(std::move(numbers)) {
        of.weights = {values.data(), {1, heads, q_len, kv_len}};
    }
    matrices(const matrices &) = delete;
    matrices &operator=(const matrices &) = delete;
};

/// `heads` heads whose rows are all uniform.
inline std::vector<float> uniform(std::int64_t heads, std::int64_t q_len, std::int64_t kv_len) {
    return std::vector<float>(static_cast<std::size_t>(heads * q_len * kv_len), 1.0f / static_cast<float>(kv_len));
}
