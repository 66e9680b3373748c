// SPDX-License-Identifier: MIT
#include "problem.hpp"

#include <cmath>
#include <set>

namespace heed::tests {

problem::problem(const variant_description &variant, const lengths &sizes, double peak)
    : query({sizes.batch, variant.heads, sizes.q_len, variant.head_dim}),
      key({sizes.batch, variant.groups, sizes.kv_len, variant.head_dim}),
      value({sizes.batch, variant.groups, sizes.kv_len, variant.value_dim}) {
    filler random(static_cast<std::uint64_t>(sizes.q_len * 1000 + sizes.kv_len));
    random.fill(query, 3 * peak);
    random.fill(key);
    random.fill(value);
}

std::vector<lengths> around_tile_edges(const variant_description &variant) {
    std::set<std::int64_t> q_lens{0, 1}, kv_lens{0, 1};
    for (int i = 0; i < variant.kernel_count; ++i) {
        const kernel_description &kernel = variant.kernels[i];
        const std::int64_t rows = kernel.query_tile / kernel.heads_per_tile;
        for (const std::int64_t q : {rows - 1, rows, rows + 1, 3 * rows}) q_lens.insert(q);
        for (const std::int64_t kv : {kernel.key_tile - 1, kernel.key_tile, kernel.key_tile + 1, 3 * kernel.key_tile}) {
            kv_lens.insert(kv);
        }
    }
    std::vector<lengths> all;
    for (const std::int64_t q : q_lens) {
        for (const std::int64_t kv : kv_lens) all.push_back({q, kv, 1});
    }
    return all;
}

}  // namespace heed::tests
