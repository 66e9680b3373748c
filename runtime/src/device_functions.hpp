// SPDX-License-Identifier: MIT
//
// What Halide's runtime offers for each kind of device under names of its own.
#pragma once

#include <HalideRuntime.h>

#include <cstdint>

#include <heed/kernel_table.hpp>

namespace heed::detail {

struct device_functions {
    device_kind kind;
    const halide_device_interface_t *(*interface)();
    /// Memory that Halide did not allocate: a device pointer, a cl_mem, or for Vulkan what Halide calls its memory by.
    int (*wrap)(void *user_context, halide_buffer_t *buffer, std::uint64_t handle);
    int (*detach)(void *user_context, halide_buffer_t *buffer);
    std::uintptr_t (*handle)(void *user_context, halide_buffer_t *buffer);
};

/// Of a kind other than the CPU.
const device_functions &functions_of(device_kind kind) noexcept;

}  // namespace heed::detail
