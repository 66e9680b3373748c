// SPDX-License-Identifier: MIT
//
// Kernels that measure devices, beside which `bench` sets those of a library. They are a library of their own,
// heed::yardsticks, which heed_add_runner links where there are kernels for devices.
#pragma once

#include <heed/kernel_table.hpp>

namespace heed {

/// Of one kind of device. Functions take Halide's argument arrays; the buffers lie on the device, without gaps.
struct device_yardsticks {
    device_kind device;
    /// User context, f32 factor, f32 summand, i32 steps, f32 result (threads, a multiple of 256): 8 multiplications
    /// with an addition in each step of each thread.
    int (*multiply_add)(void **arguments);
    /// User context, i32 result (a multiple of 1024): each element becomes its index.
    int (*fill)(void **arguments);
    /// User context, i32 data (columns, rows), i32 result (columns, a multiple of 1024): all data are read once.
    int (*read)(void **arguments);
};

struct device_yardstick_list {
    const device_yardsticks *first = nullptr;
    int count = 0;
};

/// All that there are.
extern const device_yardstick_list all_device_yardsticks;

}  // namespace heed
