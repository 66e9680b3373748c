// SPDX-License-Identifier: MIT
//
// Softmax attention as Halide Funcs, without a scheduling call: what is computed, tile by tile. Schedules for
// processors and for many or few queries stand in files of their own and work on the Funcs named here.
//
// A tile is `rows` queries times `keys` keys. Tiles are explicit dimensions, so whether a tile is empty, full or mixed
// is one uniform condition for all of it. The rows of one tile are consecutive positions of `heads_per_tile` query
// heads that share a key/value head: row = position * heads_per_tile + head.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

#include <heed/variant_source.hpp>

#include "tiled_attention.hpp"

namespace heed::generators {

/// The sizes of a tile. They are part of the algorithm because the tile classes are.
struct tile_shape {
    int rows = 0;            ///< rows of queries
    int rows_together = 0;   ///< rows that are read together; divides `rows`
    int keys = 0;            ///< keys of one step
    int keys_together = 0;   ///< keys whose scores are computed together; divides `keys`
    int columns = 0;         ///< value columns that are computed together; at least the four of `state_slot`
    int heads_per_tile = 1;  ///< divides both `rows` and heads / groups
};

/// The ranges of a lookup over tiles: made from data by a kernel of its own, before the main one reads it.
struct tile_table {
    range_table source;
    Halide::ImageParam entries;  ///< (lowest or highest, block, head_block, group, batch)
};

/// The scalars of the carried softmax state, each a slot before the value columns.
enum state_slot : int { rescale_old, rescale_new, running_max, running_sum };

/// Whether keys, or values, are used as they lie in memory.
bool keys_are_plain(const variant_source &variant, const storage_types &types);
bool values_are_plain(const variant_source &variant, const storage_types &types);

/// Whether the mask bounds the keys that a tile of queries reaches from below, as a sliding window does.
bool reachable_keys_are_bounded_below(const variant_source &variant);

/// The lookups of a mask whose ranges over tiles come from tables: tiles are skipped by what inputs hold, as documents
/// in one sequence are. `one_head`: the rows of a tile belong to one head.
std::vector<range_table> range_tables_of(const variant_source &variant, bool one_head);

/// Forward attention by online softmax (Milakov and Gimelshein 2018; Dao et al. 2022, algorithm 1).
class softmax_attention : public tiled_attention {
  public:
    softmax_attention(const variant_source &variant, const tile_shape &tile, const storage_types &types = {});

    /// In the order of kernel_description::run; the two results follow.
    std::vector<Halide::Argument> arguments() const;

    /// The kernel that makes `tables`, if there are any; it takes the inputs, q_len and kv_len.
    std::vector<Halide::Func> table_makers();
    std::vector<Halide::Argument> table_arguments() const;

    tile_shape tile;
    /// Rows of keys and values that are used as they lie in memory, without a tile of their own.
    bool key_is_plain, value_is_plain;

    std::vector<tile_table> tables;

    // Within a tile.
    Halide::Var key_in_group{"key_in_group"}, key_group{"key_group"}, slot{"slot"}, head_part{"head_part"};

    Halide::RDom rows_to_read, head_dims, head_parts, keys_to_score, keys_to_mask, keys_to_compare,
        keys_to_exponentiate, keys_to_add, keys_to_weigh, keys_to_weigh_singly, steps, value_elements;

    Halide::Func query_rows{"query_rows"};              ///< (dim, row): scaled
    Halide::Func query_tile{"query_tile"};              ///< (row, dim): the same transposed
    Halide::Func key_tile{"key_tile"};                  ///< (dim, key): as it enters the product, if not plain
    Halide::Func value_tile{"value_tile"};              ///< (dim, key): as it is weighed, if not plain
    Halide::Func values_asked_for{"values_asked_for"};  ///< 0, for a group of keys
    Halide::Func product{"product"};                    ///< (row, key in group, group of keys): scale * <query, key>
    Halide::Func partial_product{"partial_product"};    ///< the same of one part of a row
    Halide::Func score{"score"};                        ///< (row, key): after score_mod and mask
    Halide::Func block_max{"block_max"};                ///< (row), of one step
    Halide::Func weight{"weight"};                      ///< (row, key): exp(score - block_max)
    Halide::Func block_sum{"block_sum"};                ///< (row)
    Halide::Func applied_weight{"applied_weight"};      ///< weight * weight_factor, if there is one
    Halide::Func value_bits{"value_bits"};              ///< largest |V| of a tile of keys, as bits: are all finite?
    Halide::Func weighted_values{"weighted_values"};    ///< (row, column), of one step
    Halide::Func exposed_values{"exposed_values"};      ///< the same, where masked values are not finite
    Halide::Func state{"state"};                        ///< (row, slot): carried over the steps
    Halide::Func normaliser{"normaliser"};              ///< (row): factor of the accumulated values
    Halide::Func log_of_total{"log_of_total"};          ///< (row): natural logarithm of the denominator

  private:
    Halide::Expr key_element(const Halide::Expr &index, const Halide::Expr &key_offset) const;
    Halide::Expr value_element(const Halide::Expr &column, const Halide::Expr &key_offset) const;

    void read_queries();
    void read_keys_and_values();
    void compute_scores();
    void compute_weights();
    void weigh_values();
    void carry_state();
    void write_results();

    /// Slots of the state for value columns: value_dim, rounded up to whole groups.
    int column_slots() const;
    /// Loops over the keys of a tile that some row of it may attend to: one by one, or keys_together at a time (x
    /// within the group, y over groups).
    Halide::RDom reachable_keys_of_tile(const char *name) const;
    Halide::RDom reachable_groups_of_keys(const char *name) const;
    value_range reachable_keys(const Halide::Expr &block) const;  ///< offsets within the tile

    Halide::Expr weight_at(const Halide::Expr &key_offset) const;
    Halide::FuncRef largest_magnitude(const Halide::Expr &block) const;
    Halide::Expr values_are_finite(const Halide::Expr &block) const;
    tile_condition classify(const Halide::Expr &block) const;
    tile_condition classify(const value_range &keys, const Halide::Expr &key_block = Halide::Expr()) const;
    value_range range_of(const range_table &table, const Halide::Expr &block) const;
};

}  // namespace heed::generators
