// SPDX-License-Identifier: MIT
//
// The attention matrix itself, for looking at: all weights of a row at once, straight from the definition. It shares
// neither tiles nor the running maximum with the forward kernels.
#pragma once

#include <Halide.h>

#include <vector>

#include <heed/variant_source.hpp>

#include "attention_algorithm.hpp"

namespace heed::generators {

class attention_weights : public attention_algorithm {
  public:
    attention_weights(const variant_source &variant, const storage_types &types);

    /// Query, key, inputs, q_len, kv_len; the two results follow.
    std::vector<Halide::Argument> arguments() const;
    std::vector<Halide::Func> results() const { return {weights, log_sum_exp}; }

    Halide::ImageParam query, key;

    Halide::Var kv{"kv"}, head_in_group{"head_in_group"}, position{"position"};
    Halide::RDom head_dims, keys;

    Halide::Func query_row{"query_row"};  ///< (dim, head in group, position, group, batch): scaled
    Halide::Func key_row{"key_row"};      ///< (dim, kv, group, batch)
    Halide::Func product{"product"};      ///< (kv, head in group, position, group, batch)
    Halide::Func score{"score"};          ///< the same, after score_mod and mask
    Halide::Func row_max{"row_max"}, row_sum{"row_sum"};
    Halide::Func plain_weight{"plain_weight"};  ///< not divided by the sum
    Halide::Func weights;                       ///< (kv, head in group, position, group, batch)
    Halide::Func log_sum_exp{"log_sum_exp"};    ///< (head in group, position, group, batch)
    row_parts of_queries, of_keys;

  private:
    pair_values values_at(const Halide::Expr &key_number, const Halide::Expr &scaled_product) const;
};

}  // namespace heed::generators
