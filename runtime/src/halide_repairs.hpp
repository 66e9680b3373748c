// SPDX-License-Identifier: MIT
//
// What Halide 21's runtime does with drivers and should not.
#pragma once

#include <heed/kernel_table.hpp>

namespace heed::detail {

/// Puts it right after Halide has loaded the driver and before anything is allocated or compiled on the device; before
/// each call, since Halide loads Vulkan's again when somebody has released the device.
void repair_halide(device_kind kind, void *user_context);

}  // namespace heed::detail
