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
    Halide::Expr score, q_pos, kv_pos, head, batch, q_len, kv_len;
};

/// A closed range.
struct value_range {
    Halide::Expr lowest, highest;
};

/// The values of the terminals over one tile.
struct tile_values {
    value_range q_pos, kv_pos, head;
    bool one_head;  ///< head.lowest is the only one, so what is looked up by head is known exactly
    Halide::Expr batch, q_len, kv_len;
};

/// What is proved of a tile: may any pair attend, must every pair.
struct tile_condition {
    Halide::Expr may, must;
};

struct variant_source {
    std::string name;
    std::string formula;  ///< as the text reading prints it
    int heads, groups, head_dim, value_dim;
    double scale;
    std::vector<input_source> inputs;

    std::function<Halide::Expr(const pair_values &, const input_lookup &)> mask;
    std::function<Halide::Expr(const pair_values &, const input_lookup &)> score_mod;
    std::function<Halide::Expr(const pair_values &, const input_lookup &)> sink_logit;  ///< empty without a sink
    std::function<Halide::Expr(const pair_values &, const input_lookup &)> query_start;
    std::function<tile_condition(const tile_values &, const input_lookup &)> classify;
};

}  // namespace heed::generators
