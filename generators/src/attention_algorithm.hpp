// SPDX-License-Identifier: MIT
//
// What all algorithms have in common: the arguments of a call besides tensors, and the values that the DSL's terminals
// have at a row or a pair.
#pragma once

#include <Halide.h>

#include <functional>
#include <vector>

#include <heed/variant_source.hpp>

#include "rows.hpp"

namespace heed::generators {

/// What makes a result of the weighted values of a row.
struct normalised {
    Halide::Expr factor;        ///< of the values
    Halide::Expr log_of_total;  ///< natural logarithm of the softmax's denominator
};

/// The keys for which a condition on one of them can be true, as far as Halide can solve it.
Halide::Internal::Interval keys_where(const std::function<Halide::Expr(const Halide::Expr &key)> &may_attend);

/// A sum of many products is rounded at the magnitude that it has reached: long rows are added up in parts, of equal
/// size where there is one. For rows of 576 elements that takes a fifth of the error. Scores that are not divided by
/// the root of head_dim, as T5's, are as many times larger, and so are their errors: theirs are added up in parts of
/// 16, which cost AVX2 a twentieth of its speed and leave T5 with errors below 2e-6 on CPUs and GPUs (parts of
/// 32: 2.6e-6).
int product_parts(const variant_source &variant);

class attention_algorithm {
  public:
    attention_algorithm(const variant_source &variant, const storage_types &types);
    // Lookups refer to the inputs.
    attention_algorithm(const attention_algorithm &) = delete;
    attention_algorithm &operator=(const attention_algorithm &) = delete;

    variant_source variant;
    storage_types types;
    std::vector<kernel_input> inputs;
    Halide::Param<int> q_len{"q_len"}, kv_len{"kv_len"};
    Halide::Var dim{"dim"}, group{"group"}, batch{"batch"};

  protected:
    input_lookup look_up() const;
    Halide::Expr query_start() const;
    Halide::Expr last_key() const;  ///< 0 without keys

    // Of this group and batch element; heads are counted within the group.

    Halide::Expr head(const Halide::Expr &head_in_group) const;
    element_values query_element(const Halide::Expr &q_row, const Halide::Expr &head_in_group) const;
    element_values key_element_at(const Halide::Expr &kv_pos) const;
    pair_values pair(const Halide::Expr &q_row, const Halide::Expr &kv_pos, const Halide::Expr &head_in_group,
                     const Halide::Expr &score = Halide::Expr()) const;

    /// What stands for the score of a pair that the mask hides, and whether a score is that.
    Halide::Expr masked_score() const;
    Halide::Expr is_masked(const Halide::Expr &score) const;

    /// Of a row whose weights, relative to e^maximum, have this sum. `of_row` is any pair of the row.
    normalised normalise(const Halide::Expr &maximum, const Halide::Expr &sum, const pair_values &of_row) const;

    /// 0, once the processor has been asked for the line of this element (emit.cpp says into which cache).
    Halide::Expr prefetched(const Halide::ImageParam &tensor, const std::vector<Halide::Expr> &place) const;

    /// Inputs.
    std::vector<Halide::Argument> input_arguments() const;
};

/// A forward pass, whatever its schedule: its tensors and results.
class forward_attention : public attention_algorithm {
  public:
    forward_attention(const variant_source &variant, const storage_types &types);

    /// In the order of kernel_description::run; the two results follow.
    std::vector<Halide::Argument> arguments(const std::vector<Halide::ImageParam> &tables = {}) const;
    std::vector<Halide::Func> results() const { return {output, log_sum_exp}; }

    int heads_in_group() const { return variant.heads / variant.groups; }

    // Innermost dimension first. The query heads are split into (head in group, group).
    Halide::ImageParam query, key, value;
    Halide::ImageParam key_scale, value_scale;  ///< (token, group, page): for elements of type i8
    Halide::ImageParam pages;                   ///< page of each page_size keys, for a cache
    Halide::Func output;                        ///< (column, head in group, position, group, batch)
    Halide::Func log_sum_exp{"log_sum_exp"};    ///< (head in group, position, group, batch)

    Halide::Var head_in_group{"head_in_group"}, position{"position"};
    Halide::Var table_row{"table_row"};  ///< of tables over queries or keys

    /// Means over rows of queries, keys, values and results; tables for all of a call.
    row_parts of_queries, of_keys, of_values, of_outputs;

  protected:
    /// Where a key and its value lie: the last dimensions but group, (kv_pos, batch) of tensors or (token, page) of a
    /// cache.
    struct row_place {
        Halide::Expr row, outer;
    };
    row_place place_of(const Halide::Expr &kv_pos) const;

    /// Elements as floats.
    Halide::Expr stored_key(const Halide::Expr &index, const Halide::Expr &kv_pos) const;
    Halide::Expr stored_value(const Halide::Expr &index, const Halide::Expr &kv_pos) const;

    /// What whole numbers of a row are multiples of; undefined for other elements.
    Halide::Expr scale_of_key(const row_place &place) const;
    Halide::Expr scale_of_value(const row_place &place) const;

    /// 0, once the processor has been asked for these rows of values, into its second cache.
    Halide::Expr values_read_ahead(const Halide::Expr &first_row, int rows) const;

    /// Element `dim` as it takes part; a number `mean` of the row is `of_row(mean)`.
    Halide::Expr modified_key(const Halide::Expr &kv_pos, const number_of_row &of_row);
    Halide::Expr modified_value(const Halide::Expr &kv_pos, const number_of_row &of_row);

    /// Of these keys and all queries of the call, of all heads of a group.
    tile_condition classify_all_queries(const value_range &keys) const { return classify_queries(keys, q_len); }
    /// The same of so many queries from the first on, though there be fewer.
    tile_condition classify_queries(const value_range &keys, const Halide::Expr &count) const;

    /// Once the results are defined: what the argument check of the runtime guarantees.
    void pin_layouts();
};

}  // namespace heed::generators
