// SPDX-License-Identifier: MIT
//
// Memory of a device that lasts longer than a call: tensors of timed calls, what yardsticks read and write.
#pragma once

#include <HalideRuntime.h>
#include <heed/kernel_table.hpp>

#include <cstdint>
#include <functional>

namespace heed::runner {

/// The device's context is current in the calling thread for the length of a scope, as calls on memory of CUDA want it.
class device_scope {
  public:
    explicit device_scope(device_kind kind);
    ~device_scope();
    device_scope(const device_scope &) = delete;
    device_scope &operator=(const device_scope &) = delete;

  private:
    bool entered_ = false;
};

/// Runs what works on a device and reports errors as Halide does, with its user context. Throws std::runtime_error with
/// `what` and the reported text.
void run_halide(device_kind kind, const char *what, const std::function<int(void *user_context)> &work);

/// Elements without gaps in one or two dimensions.
struct buffer_extents {
    std::int64_t columns;   ///< the innermost dimension
    std::int64_t rows = 0;  ///< 0: there is no other
};

/// Those of so many elements: Halide counts each extent in 32 bits. Throws std::runtime_error that names the number if
/// no two such extents make it.
buffer_extents extents_of(std::int64_t elements);

/// Never copied by itself.
class device_buffer {
  public:
    /// Throws std::runtime_error if the device has no memory left, or if Halide cannot count an extent.
    device_buffer(device_kind kind, halide_type_t type, const buffer_extents &extents);
    ~device_buffer();
    device_buffer(const device_buffer &) = delete;
    device_buffer &operator=(const device_buffer &) = delete;

    /// What the driver calls it: a device pointer or a cl_mem, as heed::call_arguments take it.
    std::uintptr_t address();
    /// From and to host memory of the same size.
    void upload(const void *from);
    void download(void *into);
    /// Waits for all that was begun on the device.
    void finish();

    halide_buffer_t *raw() { return &buffer_; }
    /// For kernels that wrote it.
    void forget_host() { buffer_.flags = 0; }

  private:
    device_kind kind_;
    halide_dimension_t dimensions_[2];
    halide_buffer_t buffer_ = {};
};

}  // namespace heed::runner
