// SPDX-License-Identifier: MIT

#include "device_memory.hpp"

#include <HalideRuntimeCuda.h>

#include <algorithm>
#include <atomic>

#include <heed/device.hpp>

#include "device_functions.hpp"
#include "device_kernel.hpp"

// Halide's runtime exports these without declaring them in a header.
extern "C" {
void *halide_cuda_get_symbol(void *user_context, const char *name);
int halide_default_cuda_acquire_context(void *user_context, void **context, bool create);
int halide_default_cuda_get_stream(void *user_context, void *context, void **stream);
int halide_cuda_acquire_context(void *user_context, void **context, bool create);
int halide_cuda_release_context(void *user_context);
int halide_cuda_device_release(void *user_context);
int halide_cuda_release_unused_device_allocations(void *user_context);
bool halide_vulkan_is_initialized();
int halide_vulkan_release_unused_device_allocations(void *user_context);
}
namespace Halide::Runtime::Internal::Cuda {
extern int (*cuInit)(unsigned);  // null as long as Halide has not loaded the driver
}

namespace heed::detail {

namespace {

std::atomic<halide_cuda_acquire_context_t> previous_acquire{halide_default_cuda_acquire_context};
std::atomic<halide_cuda_get_stream_t> previous_stream{halide_default_cuda_get_stream};

const call_context *on_memory_of_cuda(void *user_context) noexcept {
    const call_context *context = current_context();
    return user_context == context && context != nullptr && context->on_memory_of_cuda ? context : nullptr;
}

/// That of the calling thread; null if it has none.
void *current_cuda_context(void *user_context) {
    const auto get = reinterpret_cast<int (*)(void **)>(halide_cuda_get_symbol(user_context, "cuCtxGetCurrent"));
    void *found = nullptr;
    return get != nullptr && get(&found) == 0 ? found : nullptr;
}

/// Pointers of the caller's are good in the caller's context alone.
int acquire_context(void *user_context, void **found, bool create) {
    if (on_memory_of_cuda(user_context) == nullptr) {
        return previous_acquire.load()(user_context, found, create);
    }
    *found = current_cuda_context(user_context);
    if (*found == nullptr) {
        halide_error(user_context, "no context of CUDA is current in the calling thread");
        return halide_error_code_gpu_device_error;
    }
    return 0;
}

int get_stream(void *user_context, void *cuda_context, void **stream) {
    const call_context *context = on_memory_of_cuda(user_context);
    if (context == nullptr) {
        return previous_stream.load()(user_context, cuda_context, stream);
    }
    *stream = context->cuda_stream;
    return 0;
}

/// Memory can be freed in any context of CUDA, but not in none.
void release_cuda_memory(call_context &context) {
    install_cuda_hooks();
    void *halides = nullptr;
    halide_cuda_acquire_context(&context, &halides, false);
    halide_cuda_release_context(&context);
    void *const current = current_cuda_context(&context);
    if (current != nullptr && current != halides) {
        context.on_memory_of_cuda = true;
        halide_cuda_device_release(&context);  // with the modules of this context, which it leaves alone otherwise
        return;
    }
    const auto enter = reinterpret_cast<int (*)(void *)>(halide_cuda_get_symbol(&context, "cuCtxPushCurrent_v2"));
    const auto leave = reinterpret_cast<int (*)(void **)>(halide_cuda_get_symbol(&context, "cuCtxPopCurrent_v2"));
    if (halides != nullptr && enter != nullptr && leave != nullptr && enter(halides) == 0) {
        halide_cuda_release_unused_device_allocations(&context);
        leave(&halides);
    }
}

}  // namespace

void install_cuda_hooks() {
    static const bool installed = [] {
        previous_acquire = halide_set_cuda_acquire_context(acquire_context);
        previous_stream = halide_set_cuda_get_stream(get_stream);
        return true;
    }();
    (void)installed;
}

device_memory::~device_memory() {
    for (halide_buffer_t *buffer : lent_) {
        if (buffer->device != 0) halide_device_free(&context_, buffer);
        buffer->flags = 0;
    }
    for (const wrapped_buffer &each : wrapped_) {
        each.buffer->flags = 0;
        if (each.buffer->device != 0) functions_of(each.kind).detach(&context_, each.buffer);
    }
}

void device_memory::lend(halide_buffer_t &buffer, bool is_written) {
    lent_.push_back(&buffer);
    buffer.flags = 0;
    if (!is_written) buffer.flags = halide_buffer_flag_host_dirty;
}

int device_memory::fetch(halide_buffer_t &buffer) noexcept { return halide_copy_to_host(&context_, &buffer); }

int device_memory::wrap(halide_buffer_t &buffer, char *data, device_kind kind) {
    wrapped_.push_back({&buffer, kind});
    buffer.host = nullptr;
    buffer.flags = 0;
    const auto handle = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(data));
    if (kind == device_kind::cuda) {
        install_cuda_hooks();
    }
    return functions_of(kind).wrap(&context_, &buffer, handle);
}

int device_memory::finish(halide_buffer_t &wrapped) noexcept { return halide_device_sync(&context_, &wrapped); }

void device_memory::finish() noexcept {
    const auto any = std::find_if(wrapped_.begin(), wrapped_.end(),
                                  [](const wrapped_buffer &each) { return each.buffer->device != 0; });
    if (any != wrapped_.end()) finish(*any->buffer);
}

}  // namespace heed::detail

// Not by halide_reuse_device_allocations, off and on again: Halide would take what other threads allocate in between
// for larger than it is. It keeps nothing of OpenCL's.
void heed::release_device_memory() {
    if (detail::drivers_are_lost()) return;
    detail::install_halide_hooks();
    detail::call_context context;
    const detail::context_scope scope(&context);
    if (Halide::Runtime::Internal::Cuda::cuInit != nullptr) {
        detail::release_cuda_memory(context);
    }
    if (halide_vulkan_is_initialized()) {
        context.device = device_kind::vulkan;
        halide_vulkan_release_unused_device_allocations(&context);
    }
}
