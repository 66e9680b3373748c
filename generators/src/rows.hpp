// SPDX-License-Identifier: MIT
//
// What kernels do to single elements as they read and write them: look inputs up, convert storage types, and apply the
// modifications of rows that a variant declares.
#pragma once

#include <Halide.h>

#include <functional>
#include <vector>

#include <heed/variant_source.hpp>

namespace heed::generators {

/// How elements lie in memory; sums are in single precision whatever they are.
struct storage_types {
    Halide::Type query = Halide::Float(32), key = Halide::Float(32), value = Halide::Float(32),
                 output = Halide::Float(32);
    bool has_f16c = false;  ///< the target converts f16 by instructions of its own
    /// Keys and values lie in the pages of a cache, (dim, token, group, page), and elements of type i8 are multiples of
    /// a scale per token and group.
    bool in_pages = false;
    /// Elements of two bytes come as whole numbers with the same bits: the languages of GPUs lack one or both types.
    bool as_bits = false;

    /// The type of an argument whose elements are of `type`.
    Halide::Type in_memory(const Halide::Type &type) const {
        return as_bits && type.is_float() && type.bits() == 16 ? Halide::UInt(16) : type;
    }
};

/// An argument for an `input<"name">`: a table, or a number if its rank is 0.
struct kernel_input {
    Halide::ImageParam table;
    Halide::Parameter number;

    explicit kernel_input(const input_source &source);
    Halide::Argument argument() const;
    /// The element at `indices`, outermost first.
    Halide::Expr operator()(const std::vector<Halide::Expr> &indices) const;
};

/// The Funcs that modifications of a row need besides its elements.
struct row_parts {
    std::vector<Halide::Func> means;            ///< one number per row
    std::vector<Halide::Func> position_tables;  ///< (index, ...): for all rows of a call
};

/// How a table over the positions of a call is indexed.
struct position_index {
    std::vector<Halide::Var> variables;  ///< of the table, besides the index within it
    Halide::Expr position;               ///< of these variables
    std::vector<Halide::Expr> here;      ///< their values for the row at hand
};

/// Where a row keeps one of its numbers.
using number_of_row = std::function<Halide::FuncRef(const Halide::Func &)>;

/// The element values.dim of a row after one modification after another, where `element(dim)` is that in memory. The
/// number `mean` of this row is `of_row(mean)`; what depends on the position alone is looked up in tables over
/// `positions`, if that has variables. What becomes a Func of its own is added to `parts`.
Halide::Expr modified_element(const std::vector<row_stage> &stages, const element_values &values,
                              const function_of_dim &element, int row_size, const input_lookup &look_up,
                              const number_of_row &of_row, const position_index &positions, row_parts &parts);

}  // namespace heed::generators
