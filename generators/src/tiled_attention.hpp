// SPDX-License-Identifier: MIT
//
// What algorithms that go over tiles of queries and keys share, on CPUs and on GPUs: where a tile lies, and what of it
// attends.
#pragma once

#include <Halide.h>

#include <functional>
#include <vector>

#include <heed/variant_source.hpp>

#include "attention_algorithm.hpp"

namespace heed::generators {

/// A tile is `rows` queries times `keys` keys. Its rows are consecutive positions of `heads_per_tile` query heads that
/// share a key/value head: row = position * heads_per_tile + head.
struct tile_extents {
    int rows, keys, heads_per_tile;
};

class tiled_attention : public forward_attention {
  public:
    tiled_attention(const variant_source &variant, const storage_types &types, const tile_extents &extents)
        : forward_attention(variant, types), extents_(extents) {}

    int positions_of_tile() const { return extents_.rows / extents_.heads_per_tile; }

    // Within a tile, then which tile.
    Halide::Var row{"row"}, key_in_tile{"key_in_tile"};
    Halide::Var key_block{"key_block"}, query_block{"query_block"}, head_block{"head_block"};

  protected:
    /// f at these indices, of this tile of queries; and of this, or another, step over the keys.
    Halide::FuncRef at(const Halide::Func &f, std::vector<Halide::Expr> indices) const;
    Halide::FuncRef at_step(const Halide::Func &f, std::vector<Halide::Expr> indices) const;
    Halide::FuncRef at_step(const Halide::Func &f, std::vector<Halide::Expr> indices, const Halide::Expr &block) const;

    Halide::Expr position_of(const Halide::Expr &row_index) const;
    Halide::Expr head_of(const Halide::Expr &row_index) const;     ///< within the group
    Halide::Expr key_index(const Halide::Expr &key_offset) const;  ///< never outside of key and value
    pair_values values_at(const Halide::Expr &row_index, const Halide::Expr &key_offset,
                          const Halide::Expr &scaled_product = Halide::Expr()) const;
    Halide::Expr visible(const Halide::Expr &row_index, const Halide::Expr &key_offset) const;

    /// Of these keys and this tile of queries. `range_of` may be null: see tile_values.
    tile_condition classify_tile(const value_range &keys,
                                 const std::function<value_range(const range_table &)> &range_of) const;

  private:
    tile_extents extents_;
};

}  // namespace heed::generators
