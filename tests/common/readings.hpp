// SPDX-License-Identifier: MIT
//
// The readings in a kernel table, which tools take for the truth, against what a test says a variant means.
#pragma once

#include "reference.hpp"

#include <heed/untyped_call.hpp>

#include <string>

namespace heed::tests {

/// The first contradiction, or an empty text: pairs that attend, modified scores, weights, changed
/// rows, and tiles said to be empty or full.
std::string contradiction(const variant_description &variant, const problem &of, const heed::tensor *inputs,
                          const semantics &meaning);

}  // namespace heed::tests
