// SPDX-License-Identifier: MIT
//
// Words for the entries of a kernel table.
#pragma once

#include <heed/kernel_table.hpp>

#include <string>
#include <vector>

namespace heed::runner {

/// "f32", or "f32:f16:f16:f32" for query, key, value and output, as DTYPES of heed_add_kernels has it.
std::string types_text(const tensor_types &types);

/// Whether the variant has kernels of the pass "weights".
bool has_weights(const variant_description &variant);

/// One argument of a call: "query", "f32", {"batch", "8", "q_len", "64"}.
struct argument_text {
    std::string name;
    std::string type;
    std::vector<std::string> shape;
    std::string role;  ///< "in", "out" or "out, optional", and of which calls if not of all
};

/// The arguments of a variant's call in their order: with keys and values in tensors, or, where there are kernels for
/// caches alone, of calls with a cache. Extents of inputs are those of the readings: names where they vary
/// with the call ("kv_len"), "any" where the declaration does not bound the index.
std::vector<argument_text> arguments_of(const variant_description &variant);

/// "(batch, 8, q_len, 64)"; "number" for rank 0.
std::string shape_text(const argument_text &argument);

/// The lines of a text, each moved to the right and ended.
std::string indented(const std::string &text);

}  // namespace heed::runner
