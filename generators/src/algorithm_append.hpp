// SPDX-License-Identifier: MIT
//
// Keys and values on their way into a cache: as they take part in attention, in the elements that the cache stores.
#pragma once

#include <Halide.h>

#include <string>
#include <vector>

#include <heed/variant_source.hpp>

#include "attention_algorithm.hpp"

namespace heed::generators {

/// Some tokens of one sequence that lie in one page. The results are parts of the cache; `token` counts from the
/// sequence's first.
class append_to_cache : public attention_algorithm {
  public:
    append_to_cache(const variant_source &variant, const storage_types &types);

    /// Rows of keys and values, inputs, q_len, kv_len; the results follow.
    std::vector<Halide::Argument> arguments() const;
    /// Keys and values, then the scales of those of type i8.
    std::vector<Halide::Func> results() const;

    Halide::ImageParam key_rows, value_rows;  ///< (dim, token, group, batch), of the type of queries

    Halide::Var token{"token"}, table_token{"table_token"};

    /// (dim, token, group, batch), and (token, group, batch): what is stored of keys or of values.
    struct stored_rows {
        Halide::Func modified, largest, elements, scale;  ///< `largest` and `scale` for elements of type i8
        Halide::RDom dims;
        row_parts parts;
        int row_size;
    };
    stored_rows keys, values;

  private:
    void store(stored_rows &rows, const std::string &name, const Halide::ImageParam &from,
               const std::vector<row_stage> &stages, int row_size, const Halide::Type &type);
};

}  // namespace heed::generators
