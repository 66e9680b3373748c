// SPDX-License-Identifier: MIT
//
// Reading attention matrices, as statistics and pictures do.
#pragma once

#include <heed/inspect.hpp>

#include <cstdint>

namespace heed::inspect {

/// Throws std::invalid_argument if extents, labels or starts contradict each other.
void check(const attention &of);

inline float weight_at(const attention &of, std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) {
    const auto &strides = of.weights.strides();
    return of.weights.data()[batch * strides[0] + head * strides[1] + row * strides[2] + key * strides[3]];
}

inline bool is_visible(const attention &of, std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key) {
    if (of.visible) return of.visible(batch, head, row, key);
    return weight_at(of, batch, head, row, key) != 0.0f;
}

/// Position of the first query.
inline std::int64_t start_of(const attention &of, std::int64_t batch) {
    const auto &extents = of.weights.extents();
    return of.query_start.empty() ? extents[3] - extents[2] : of.query_start[static_cast<std::size_t>(batch)];
}

}  // namespace heed::inspect
