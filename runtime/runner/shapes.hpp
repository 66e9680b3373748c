// SPDX-License-Identifier: MIT
//
// The lengths that `verify` tries: dense around the edges of a kernel's tiles, not a full cross product.
#pragma once

#include <heed/kernel_table.hpp>

#include <vector>

namespace heed::runner {

/// Positions in a query tile, which holds the rows of `heads_per_tile` heads.
int rows_per_tile(const kernel_description &kernel);

/// With T the query tile (and T / heads where heads share a tile) and K the key tile:
/// every q_len of 0, 1, T-1, T, T+1, 3T against K+1 keys; every kv_len of 0, 1, K-1, K, K+1, 3K against T+1 queries;
/// equal lengths at the edges of both; few queries against many keys and the reverse; where results of parts of P keys
/// are merged, P, P+1, 2P+K+1 and 3P keys. `quick` keeps a third of them.
std::vector<call_sizes> verified_sizes(const kernel_description &kernel, bool quick);

}  // namespace heed::runner
