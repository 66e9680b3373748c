// SPDX-License-Identifier: MIT
//
// Attention for few queries, as when text is generated token by token: what is computed, without a scheduling call.
//
// All rows of a group of heads share one pass over its keys and values, which is what takes the time. Keys are cut into
// chunks; the scores of a chunk are few enough to be kept, so no state is carried: each chunk has its own maximum, sum
// and weighted values, and the chunks are merged at the end. Vectors lie along the elements of rows, so that keys and
// values are read in place and in order.
#pragma once

#include <Halide.h>

#include <vector>

#include <heed/variant_source.hpp>

#include "attention_algorithm.hpp"

namespace heed::generators {

/// The sizes of what is computed together. They are part of the algorithm because chunks and vectors are.
struct decode_shape {
    int lanes = 0;             ///< elements of a vector along head_dim
    int value_lanes = 0;       ///< the same along value_dim
    int rows_together = 0;     ///< rows of queries that share what is read
    int keys = 0;              ///< keys of a chunk
    int keys_together = 0;     ///< keys whose products are computed together; divides `keys`
    int scores_together = 0;   ///< scores of a vector; a multiple of keys_together that divides `keys`
    int values_together = 0;   ///< values that are weighed together; divides `keys`
    int columns_together = 0;  ///< vectors of values that are weighed together
    int rows_weighed = 0;      ///< rows for which they are; divides `rows_together`
    int bytes_ahead = 0;       ///< of keys and of values: the distance at which they are asked for before they are read
};

class decode_attention : public forward_attention {
  public:
    decode_attention(const variant_source &variant, const decode_shape &shape, const storage_types &types = {});

    decode_shape shape;
    /// Rows of keys and values that need no more than a conversion.
    bool key_is_plain, value_is_plain;

    // A row is one head at one position: row = position * heads in the group + head = row_tile * rows_together + row.
    Halide::Var kv_pos{"kv_pos"}, lane{"lane"}, vector{"vector"}, row{"row"}, row_tile{"row_tile"},
        key_in_chunk{"key_in_chunk"}, key_in_group{"key_in_group"}, key_group{"key_group"}, part{"part"},
        chunk{"chunk"};

    Halide::RDom vectors, lanes_to_add, keys_to_score, keys_to_mask, keys_to_compare, keys_to_exponentiate, keys_to_add,
        keys_to_weigh, keys_to_weigh_singly, chunks_to_attend, chunks_to_compare, chunks_to_add, chunks_to_merge;

    Halide::Func query_rows{"query_rows"};            ///< (dim, row, row tile): scaled
    Halide::Func token_in_page{"token_in_page"};      ///< (kv_pos): of a cache
    Halide::Func page{"page"};                        ///< (kv_pos)
    Halide::Func key_start{"key_start"};              ///< (kv_pos): where its row begins in a cache
    Halide::Func value_start{"value_start"};          ///< (kv_pos)
    Halide::Func key_factor{"key_factor"};            ///< (key): scale of its row in a cache of i8
    Halide::Func value_factor{"value_factor"};        ///< (key)
    Halide::Func key_tile{"key_tile"};                ///< (dim, key): as it enters the product, if not plain
    Halide::Func value_tile{"value_tile"};            ///< (dim, key): as it is weighed, if not plain
    Halide::Func lane_products{"lane_products"};      ///< (lane, key in group, row, row tile, group of keys)
    Halide::Func product{"product"};                  ///< (key in group, row, row tile, group of keys)
    Halide::Func attends{"attends"};                  ///< (key, row, row tile): 1 where the mask lets it
    Halide::Func score{"score"};                      ///< (key, row, row tile): after score_mod and mask
    Halide::Func chunk_max{"chunk_max"};              ///< (row, row tile)
    Halide::Func weight{"weight"};                    ///< (key, row, row tile): exp(score - chunk_max)
    Halide::Func chunk_sum{"chunk_sum"};              ///< (row, row tile)
    Halide::Func applied_weight{"applied_weight"};    ///< weight times weight_factor and the value's scale, if any
    Halide::Func values_ahead{"values_ahead"};        ///< (part of a group, group of values): 0, once asked for
    Halide::Func weighted_values{"weighted_values"};  ///< (lane, vector, row, row tile)
    /// (lane, vector, row, row tile): weighted values, then a vector each of the maximum and the sum.
    Halide::Func partial{"partial"};
    Halide::Func row_max{"row_max"};            ///< (row, row tile), of all chunks, as are these:
    Halide::Func chunk_weight{"chunk_weight"};  ///< (chunk, row, row tile): exp(chunk_max - row_max)
    Halide::Func row_sum{"row_sum"};            ///< (row, row tile)
    Halide::Func merged{"merged"};              ///< (lane, vector, row, row tile)
    Halide::Func normaliser{"normaliser"};      ///< (row, row tile): factor of the merged values
    Halide::Func log_of_total{"log_of_total"};  ///< (row, row tile): natural logarithm of the denominator
    int key_vectors() const { return (variant.head_dim + shape.lanes - 1) / shape.lanes; }
    int value_vectors() const { return (variant.value_dim + shape.value_lanes - 1) / shape.value_lanes; }

  private:
    Halide::FuncRef at(const Halide::Func &f, std::vector<Halide::Expr> indices) const;
    Halide::FuncRef at_chunk(const Halide::Func &f, std::vector<Halide::Expr> indices) const;
    Halide::FuncRef at_chunk(const Halide::Func &f, std::vector<Halide::Expr> indices, const Halide::Expr &of) const;

    void read_rows();
    void compute_scores();
    void compute_weights();
    void weigh_values();
    void merge_chunks();
    void write_results();

    Halide::Expr position_of(const Halide::Expr &row_index, const Halide::Expr &tile) const;
    Halide::Expr head_of(const Halide::Expr &row_index, const Halide::Expr &tile) const;
    int rows_ahead(const Halide::ImageParam &tensor, int row_size) const;
    Halide::Expr key_index(const Halide::Expr &key_offset) const;
    Halide::Expr key_element(const Halide::Expr &index, const Halide::Expr &key_offset) const;
    Halide::Expr value_element(const Halide::Expr &index, const Halide::Expr &key_offset) const;
    /// Indices of an element of key or value, where rows of a cache begin at `start`.
    std::vector<Halide::Expr> element_at(const Halide::Expr &index, const Halide::Expr &position,
                                         const Halide::Func &start) const;
    pair_values values_at(const Halide::Expr &key_offset, const Halide::Expr &scaled_product) const;
    Halide::RDom reachable_chunks(const char *name) const;  ///< those with a pair that may attend
    Halide::Expr whole_chunk_attends() const;               ///< every pair of every key
    value_range reachable_keys() const;                     ///< offsets within the chunk
    Halide::RDom reachable_groups(int together, const char *name) const;
};

}  // namespace heed::generators
