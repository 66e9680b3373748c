// SPDX-License-Identifier: MIT
//
// From checked arguments to calls of the compiled kernel. Halide counts strides and offsets in 32 bits, and devices
// have limits of their own: see device_limits.hpp. Where a call goes beyond, the kernel runs once per batch, or once
// per batch and group, on the part concerned.
#pragma once

#include "argument_check.hpp"
#include "call_context.hpp"

namespace heed::detail {

/// `memory`: where tensors lie, inputs aside; the CPU's, or that of the kernel's device. Throws invalid_argument_error
/// before anything is written, kernel_error, out_of_memory_error or std::bad_alloc.
void call_kernel(const variant_description &variant, const kernel_description &kernel, const checked_call &call,
                 const tensor *inputs, device_kind memory, call_context &context);

}  // namespace heed::detail
