// SPDX-License-Identifier: MIT
//
// The tensors of one call.
#pragma once

#include "random.hpp"
#include "tensor.hpp"

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <vector>

namespace heed::tests {

struct lengths {
    std::int64_t q_len;
    std::int64_t kv_len;
    std::int64_t batch = 2;
};

struct problem {
    tensor<float, 4> query, key, value;

    /// Random tensors of the sizes that the variant was compiled for. Scores are of the order of `peak`.
    problem(const variant_description &variant, const lengths &sizes, double peak = 1);

    std::int64_t batch() const { return query.extents()[0]; }
    std::int64_t heads() const { return query.extents()[1]; }
    std::int64_t groups() const { return key.extents()[1]; }
    std::int64_t q_len() const { return query.extents()[2]; }
    std::int64_t kv_len() const { return key.extents()[2]; }
    std::int64_t head_dim() const { return query.extents()[3]; }
    std::int64_t value_dim() const { return value.extents()[3]; }
};

/// 0, 1, and one tile more, less and exactly, for the tiles of every instruction set: every pair of such lengths that
/// one may meet, thinned out to some.
std::vector<lengths> around_tile_edges(const variant_description &variant);

}  // namespace heed::tests
