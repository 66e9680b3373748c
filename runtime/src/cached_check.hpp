// SPDX-License-Identifier: MIT
//
// The argument check of calls with a cache. It reads shapes and lists of pages and, where tokens have no page, inputs
// that the mask looks up; never query, keys or values. It runs before anything is written.
#pragma once

#include <cstdint>
#include <vector>

#include <heed/cached_call.hpp>

#include "tensor_shape.hpp"

namespace heed::detail {

/// A sequence with at least one new token.
struct checked_sequence {
    std::int64_t number;     ///< in the call
    std::int64_t first_row;  ///< in the tensors of the call
    std::int64_t new_tokens, length;
    const std::int32_t *pages;  ///< for each block one that there is
};

/// The tensors of a call, known to fit the variant and each other. Which are given depends on the pass.
struct checked_cached_call {
    tensor_shape query, key, value, output, log_sum_exp;
    tensor_shape cache_key, cache_value, key_scale, value_scale;
    std::int64_t page_size;
    std::vector<checked_sequence> sequences;
    std::vector<std::vector<std::int32_t>> completed_lists;  ///< of sequences with blocks that have no page
};

/// Throws invalid_argument_error.
checked_cached_call check_cached_arguments(const cached_arguments &arguments, const kernel_description &kernel);
checked_cached_call check_append_arguments(const cached_arguments &arguments, const kernel_description &kernel);

}  // namespace heed::detail
