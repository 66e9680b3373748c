// SPDX-License-Identifier: MIT
//
// Softmax attention as Halide Funcs in a form that a GPU can run, without a scheduling call in it. A block of threads
// takes one tile of queries and goes over tiles of keys, all of them or a part whose result is merged with others'; the
// carried state is one tuple for each row and slice of value columns, so that a thread can keep and write all of it.
//
// What a GPU lacks decides the rest: bounds of memory within a block must not depend on data, so conditions are hidden
// from Halide's inference, and rows that a declaration changes are changed once for all blocks beforehand.
#pragma once

#include <Halide.h>

#include <functional>
#include <vector>

#include <heed/variant_source.hpp>

#include "tiled_attention.hpp"

namespace heed::generators {

/// The sizes of a tile. They are part of the algorithm because the tile classes and the slices of the state are.
struct gpu_tile_shape {
    int rows = 0;            ///< of queries: positions times heads_per_tile
    int keys = 0;            ///< of one step
    int slices = 0;          ///< of the value columns
    int heads_per_tile = 1;  ///< query heads that share what is read; divides `rows` and heads / groups
    int steps_of_part = 0;   ///< of a block; several share the keys then, and their results are merged. 0: all steps
};

/// Forward attention by online softmax. Rows of a tile are consecutive positions of heads_per_tile query heads that
/// share keys and values: row = position * heads_per_tile + head.
class gpu_attention : public tiled_attention {
  public:
    /// `exponential`: e^x for x <= 0 or NaN, as the device does it best.
    gpu_attention(const variant_source &variant, const gpu_tile_shape &tile, const storage_types &types,
                  std::function<Halide::Expr(const Halide::Expr &)> exponential);

    gpu_tile_shape tile;
    int columns_of_slice() const;
    /// Maximum and sum of a row come before the columns.
    int slots_of_slice() const { return 2 + columns_of_slice(); }

    Halide::Var column{"column"}, column_of_slice{"column_of_slice"}, slice{"slice"}, slot{"slot"},
        head_part{"head_part"}, part{"part"}, kv_pos{"kv_pos"};

    Halide::RDom head_dims, head_parts, keys_to_compare, keys_to_add, keys_to_weigh, keys_to_redo, not_all_seen, steps;

    // For all of a call, before the main kernel.
    Halide::Func query_tile{"query_tile"};  ///< (row, dim): scaled
    Halide::Func changed_keys;              ///< (dim, kv_pos): as they enter the product; undefined if plain
    Halide::Func changed_values;            ///< (dim, kv_pos): as they are weighed; undefined if plain
    std::vector<Halide::Func> ranges;       ///< (tile): lowest and highest of a lookup

    // One step of a block. The names decide the order in which Halide lays out memory that a block shares.
    Halide::Func key_tile{"a_key_tile"};      ///< (dim, key)
    Halide::Func value_tile{"c_value_tile"};  ///< (column, key)
    Halide::Func product{"product"};          ///< (key, row): scale * <query, key>
    Halide::Func partial_product;             ///< the same of one part of a row; undefined if it is not in parts
    Halide::Func seen_score{"seen_score"};    ///< (key, row): after score_mod and mask, in registers
    Halide::Func score{"b_score"};            ///< (key, row): the same, for all threads
    Halide::Func maximum_of_row{"maximum_of_row"}, block_max{"b_u_block_max"};  ///< (row)
    Halide::Func weight{"b_weight"};                                            ///< (key, row)
    Halide::Func sum_of_row{"sum_of_row"}, block_sum{"b_y_block_sum"};          ///< (row)
    Halide::Func applied_weight{"b_z_applied_weight"};  ///< weight * weight_factor, if there is one
    Halide::Func sum_of_all{"sum_of_all"};              ///< (column_of_slice, slice, row): masked keys' weights are 0
    Halide::Func weighted_values{"weighted_values"};    ///< (column_of_slice, slice, row): of visible keys
    Halide::Func state{"state"};                        ///< (slice, row): maximum, sum, columns

    // Behind the steps.
    Halide::Func accumulated{"accumulated"};              ///< (row, slot, slice), and (part): the state in memory
    Halide::Func normalised_values{"normalised_values"};  ///< (dim, head_in_group, position): before output_mod
    // Where there are several parts; of all of them.
    Halide::RDom parts_to_compare, parts_to_add;
    Halide::Func row_max, row_sum;  ///< (head_in_group, position)
    Halide::Func merged;            ///< (dim, head_in_group, position): row_sum and the weighted values

  private:
    std::function<Halide::Expr(const Halide::Expr &)> exponential_;

    void read_queries();
    void read_keys_and_values();
    void compute_scores();
    void compute_weights();
    void weigh_values();
    void carry_state();
    void merge_parts();
    void write_results();

    /// Indices of what each part has for itself, if there are several.
    std::vector<Halide::Expr> of_part(std::vector<Halide::Expr> indices,
                                      const Halide::Expr &which_part = Halide::Expr()) const;

    /// Of a result: what its row has accumulated in a part.
    Halide::Expr accumulated_by(const Halide::Expr &which_slot, const Halide::Expr &which_slice,
                                const Halide::Expr &which_part) const;
    Halide::Expr accumulated_column(const Halide::Expr &index, const Halide::Expr &which_part) const;
    /// The nearest key that some query of the call reaches, as far as Halide can solve for them.
    Halide::Expr reachable_key(const Halide::Expr &key_position) const;
    Halide::Expr blocks() const;                         ///< tiles of keys
    tile_condition classify(const Halide::Expr &block);  ///< with this tile of queries
    value_range range_of(const range_table &table, const Halide::Expr &block);
};

}  // namespace heed::generators
