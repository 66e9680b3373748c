// SPDX-License-Identifier: MIT
//
// Memory of a device for the length of a call. What is freed at its end Halide keeps for calls to come, until
// release_device_memory() of heed/device.hpp.
#pragma once

#include <HalideRuntime.h>

#include <vector>

#include <heed/kernel_table.hpp>

#include "call_context.hpp"

namespace heed::detail {

/// Makes Halide work in the caller's context and stream in calls on memory of CUDA, once per process.
void install_cuda_hooks();

/// Frees what kernels allocated on the device for the buffers that it was told of, or hands it to those to come, and
/// parts buffers from the caller's memory, whatever happens.
class device_memory {
  public:
    explicit device_memory(call_context &context) noexcept : context_(context) {}
    ~device_memory();
    device_memory(const device_memory &) = delete;
    device_memory &operator=(const device_memory &) = delete;

    /// The next kernel copies what `buffer` points at to the device; what it writes needs no copying.
    void lend(halide_buffer_t &buffer, bool is_written = false);

    /// Brings what the kernel wrote back to host memory. Returns Halide's result.
    int fetch(halide_buffer_t &buffer) noexcept;

    /// Makes `buffer` stand for memory of the device, `data`. Returns Halide's result.
    int wrap(halide_buffer_t &buffer, char *data, device_kind kind);

    /// Waits for what was begun on the device. Returns Halide's result.
    int finish(halide_buffer_t &wrapped) noexcept;
    /// The same, where anything is wrapped at all.
    void finish() noexcept;

  private:
    struct wrapped_buffer {
        halide_buffer_t *buffer;
        device_kind kind;
    };

    call_context &context_;
    std::vector<halide_buffer_t *> lent_;
    std::vector<wrapped_buffer> wrapped_;
};

}  // namespace heed::detail
