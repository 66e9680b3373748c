// SPDX-License-Identifier: MIT
#include "tiled_attention.hpp"

#include <utility>

namespace heed::generators {

using Halide::Expr;
using Halide::Func;

Halide::FuncRef tiled_attention::at(const Func &f, std::vector<Expr> indices) const {
    indices.insert(indices.end(), {query_block, head_block, group, batch});
    return f(indices);
}

Halide::FuncRef tiled_attention::at_step(const Func &f, std::vector<Expr> indices) const {
    return at_step(f, std::move(indices), key_block);
}

Halide::FuncRef tiled_attention::at_step(const Func &f, std::vector<Expr> indices, const Expr &block) const {
    indices.push_back(block);
    return at(f, std::move(indices));
}

Expr tiled_attention::position_of(const Expr &row_index) const {
    return query_block * positions_of_tile() + row_index / extents_.heads_per_tile;
}

Expr tiled_attention::head_of(const Expr &row_index) const {
    return head_block * extents_.heads_per_tile + row_index % extents_.heads_per_tile;
}

Expr tiled_attention::key_index(const Expr &key_offset) const {
    return Halide::clamp(key_block * extents_.keys + key_offset, 0, last_key());
}

pair_values tiled_attention::values_at(const Expr &row_index, const Expr &key_offset,
                                       const Expr &scaled_product) const {
    return pair(position_of(row_index), key_block * extents_.keys + key_offset, head_of(row_index), scaled_product);
}

Expr tiled_attention::visible(const Expr &row_index, const Expr &key_offset) const {
    const pair_values values = values_at(row_index, key_offset);
    return values.kv_pos < kv_len && variant.mask(values, look_up());
}

tile_condition tiled_attention::classify_tile(const value_range &keys,
                                              const std::function<value_range(const range_table &)> &range_of) const {
    const int positions = positions_of_tile(), heads = extents_.heads_per_tile;
    const Expr first_row = query_block * positions, first_position = query_start() + first_row;
    const Expr first_head = head(head_block * heads);
    return variant.classify({.q_pos = {first_position, first_position + (positions - 1)},
                             .kv_pos = keys,
                             .head = {first_head, first_head + (heads - 1)},
                             .one_head = heads == 1,
                             .batch = batch,
                             .q_len = q_len,
                             .kv_len = kv_len,
                             .q_row = {first_row, first_row + (positions - 1)},
                             .range_of = range_of},
                            look_up());
}

}  // namespace heed::generators
