// SPDX-License-Identifier: MIT
#include "shapes.hpp"

#include <set>
#include <tuple>

namespace heed::runner {

namespace {

class size_list {
  public:
    void add(std::int64_t q_len, std::int64_t kv_len) {
        if (!seen_.insert({q_len, kv_len}).second) return;
        // Every third problem has a batch of two.
        const std::int64_t batch = sizes_.size() % 3 == 1 ? 2 : 1;
        sizes_.push_back({batch, q_len, kv_len});
    }
    std::vector<call_sizes> take() { return std::move(sizes_); }

  private:
    std::set<std::tuple<std::int64_t, std::int64_t>> seen_;
    std::vector<call_sizes> sizes_;
};

}  // namespace

int rows_per_tile(const kernel_description &kernel) { return kernel.query_tile / kernel.heads_per_tile; }

std::vector<call_sizes> verified_sizes(const kernel_description &kernel, bool quick) {
    const std::int64_t queries = kernel.query_tile, keys = kernel.key_tile;
    const std::int64_t packed = rows_per_tile(kernel);
    size_list list;
    if (const std::int64_t part = kernel.block.keys_of_part; part > 0) {
        list.add(1, part + 1);
        list.add(packed, 2 * part + keys + 1);
        if (!quick) {
            list.add(1, part);
            list.add(1, 3 * part);
        }
    }
    if (quick) {
        for (const std::int64_t kv_len : {std::int64_t{0}, keys, keys + 1}) list.add(queries + 1, kv_len);
        list.add(1, 1);
        list.add(queries + 1, 1);
        list.add(queries, keys + 1);
        list.add(packed - 1, 3 * keys);
        list.add(3 * packed, 3 * packed);
        return list.take();
    }
    for (const std::int64_t q_len : {std::int64_t{0}, std::int64_t{1}, queries - 1, queries, queries + 1, 3 * queries,
                                     packed - 1, packed, packed + 1, 3 * packed})
        list.add(q_len, keys + 1);
    for (const std::int64_t kv_len :
         {std::int64_t{0}, std::int64_t{1}, keys - 1, keys, keys + 1, 2 * keys, 3 * keys, 3 * keys + 1})
        list.add(queries + 1, kv_len);
    for (const std::int64_t both : {std::int64_t{1}, std::int64_t{2}, queries, keys - 1, keys, keys + 1, 3 * queries})
        list.add(both, both);
    list.add(1, 3 * keys);
    list.add(queries - 1, 3 * keys - 1);
    list.add(3 * queries, keys - 1);
    list.add(3 * queries, 1);
    return list.take();
}

}  // namespace heed::runner
