// SPDX-License-Identifier: MIT
//
// The context of one call, and Halide's hooks. Kernels hand the address of the context, as Halide's user context, to
// every function of Halide's runtime. The hooks serve the contexts of running calls; for all other Halide code in the
// process they do what was done before they were installed.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>

#include <heed/kernel_table.hpp>

namespace heed::detail {

/// State that the threads of one call share.
struct call_context {
    int thread_limit = 1;
    int active_threads = 1;  ///< belongs to the thread pool, under its lock

    std::mutex error_lock;
    std::string error_text;  ///< the first one reported
    bool out_of_memory = false;
    std::size_t refused_bytes = 0;

    device_kind device = device_kind::cpu;  ///< that runs the kernel
    bool on_memory_of_cuda = false;         ///< works in the caller's context and stream
    void *cuda_stream = nullptr;
};

/// The context of the call that this thread works for, or null.
call_context *current_context() noexcept;

/// Makes this thread work for `context` for the length of a scope.
class context_scope {
  public:
    explicit context_scope(call_context *context) noexcept;
    ~context_scope();
    context_scope(const context_scope &) = delete;
    context_scope &operator=(const context_scope &) = delete;

  private:
    call_context *previous_;
};

/// Installs the hooks, once per process.
void install_halide_hooks();

}  // namespace heed::detail
