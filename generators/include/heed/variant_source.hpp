// SPDX-License-Identifier: MIT
//
// A declared variant as the generators see it: its sizes, and its expressions as functions that yield Halide
// expressions. The templates that read a declaration (heed/generator.hpp) fill it; everything behind it is compiled
// once, with Heed.
#pragma once

#include <Halide.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed::generators {

/// One `input<"name", type>` of a variant; a rank of 0 is a single number.
struct input_source {
    std::string name;
    Halide::Type type;
    int rank;
};

/// Reads element `indices` (outermost first) of input number `input`.
using input_lookup = std::function<Halide::Expr(int input, const std::vector<Halide::Expr> &indices)>;

/// The values of the DSL's terminals at one pair of query and key.
struct pair_values {
    Halide::Expr score, q_pos, kv_pos, head, batch, q_len, kv_len, q_row{};
};

/// The values of the DSL's terminals at one element of a row. Rows of queries and results have no kv_pos and group,
/// those of keys and values no q_pos, q_row and head.
struct element_values {
    Halide::Expr dim, q_pos, q_row, head, kv_pos, group, batch, q_len, kv_len;
};

/// An expression as a function of `dim`, all else staying as it is.
using function_of_dim = std::function<Halide::Expr(const Halide::Expr &dim)>;

/// The same for another position of query or key, too; the current one if that is undefined.
using function_of_place = std::function<Halide::Expr(const Halide::Expr &dim, const Halide::Expr &position)>;

/// What a modification of a row may ask for besides terminals.
struct row_access {
    function_of_dim element;
    std::function<Halide::Expr(const function_of_dim &)> mean_over_dims;
    /// `of_dim` at `index`, which is below `extent`. It may be asked for any position if nothing else decides its
    /// value.
    std::function<Halide::Expr(int extent, const function_of_place &of_place, const Halide::Expr &index,
                               bool position_decides)>
        tabulated;
    input_lookup read;
};

/// One modification of a row.
using row_stage = std::function<Halide::Expr(const element_values &, const row_access &)>;

/// A closed range.
struct value_range {
    Halide::Expr lowest, highest;
};

/// A table of what an input holds over each tile of queries, or of keys: its lowest and highest element there.
struct range_table {
    int number;   ///< among the tables of a variant
    bool by_key;  ///< one entry for each tile of keys; else for each tile of queries
    Halide::Type type;
    /// The element that a pair reads, whatever the other side is.
    std::function<Halide::Expr(const pair_values &, const input_lookup &)> element;
};

/// The values of the terminals over one tile.
struct tile_values {
    value_range q_pos, kv_pos, head;
    bool one_head;  ///< head.lowest is the only one, so what is looked up by head is known exactly
    Halide::Expr batch, q_len, kv_len;
    value_range q_row{};
    /// Lowest and highest element of a table over this tile. Empty: what is looked up is unknown where it varies.
    std::function<value_range(const range_table &)> range_of{};
};

/// What is proved of a tile: may any pair attend, must every pair.
struct tile_condition {
    Halide::Expr may, must;
};

using pair_expression = std::function<Halide::Expr(const pair_values &, const input_lookup &)>;

struct variant_source {
    std::string name;
    std::string formula;  ///< as the text reading prints it
    int heads, groups, head_dim, value_dim;
    double scale;
    std::vector<input_source> inputs;

    pair_expression mask, score_mod;
    pair_expression sink_logit;  ///< empty without a sink
    pair_expression query_start;
    pair_expression free_weight;    ///< of a score; empty for a softmax
    pair_expression weight_factor;  ///< empty if it is 1
    /// In the order in which they apply; empty for a tensor that is used as it is.
    std::vector<row_stage> query_stages, key_stages, value_stages, output_stages;
    /// Whether what becomes of keys or values depends on q_len or kv_len, which change while they are in a cache.
    bool rows_depend_on_lengths = false;
    std::function<tile_condition(const tile_values &, const input_lookup &)> classify;
};

}  // namespace heed::generators
