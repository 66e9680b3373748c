// SPDX-License-Identifier: MIT
//
// What all algorithms have in common: the arguments of a call besides tensors, and the values that the DSL's terminals
// have at a row or a pair.
#pragma once

#include <Halide.h>

#include <vector>

#include <heed/variant_source.hpp>

#include "rows.hpp"

namespace heed::generators {

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

    /// Inputs.
    std::vector<Halide::Argument> input_arguments() const;
};

}  // namespace heed::generators
