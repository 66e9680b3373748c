// SPDX-License-Identifier: MIT
//
// What Halide 21's runtime does with drivers and should not. Each is put right once in a process, after Halide has
// loaded the driver and before anything is allocated or compiled on the device.
#pragma once

#include <heed/kernel_table.hpp>

namespace heed::detail {

void repair_halide(device_kind kind);

}  // namespace heed::detail
