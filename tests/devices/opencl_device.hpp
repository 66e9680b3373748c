// SPDX-License-Identifier: MIT
#pragma once

#include <doctest/doctest.h>
#include <heed/device.hpp>

/// Whether there is a device of OpenCL; says so where there is none.
inline bool has_device() {
    const heed::device &opencl = heed::device_of(heed::device_kind::opencl);
    if (!opencl.available) MESSAGE("[SKIP] no OpenCL device: ", opencl.reason);
    return opencl.available;
}
