// SPDX-License-Identifier: MIT
//
// The argument check. It reads shapes and strides only, never elements, and runs before anything is written.
#pragma once

#include <heed/untyped_call.hpp>

#include "tensor_shape.hpp"

namespace heed::detail {

/// The tensors of a call, known to fit the variant and each other.
struct checked_call {
    call_sizes sizes;
    tensor_shape query, key, value, output;
    tensor_shape log_sum_exp;  ///< rank 0 if not asked for
};

/// Throws invalid_argument_error.
checked_call check_arguments(const call_arguments &arguments, const kernel_description &kernel);

}  // namespace heed::detail
