// SPDX-License-Identifier: MIT
#include "device_buffer.hpp"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "../src/call_context.hpp"
#include "../src/device_functions.hpp"

// Halide's runtime exports these without declaring them in a header.
extern "C" {
int halide_cuda_acquire_context(void *user_context, void **context, bool create);
int halide_cuda_release_context(void *user_context);
void *halide_cuda_get_symbol(void *user_context, const char *name);
}

namespace heed::runner {

namespace {

constexpr std::int64_t most_counted = std::numeric_limits<std::int32_t>::max();

std::int32_t counted(std::int64_t extent) {
    if (extent < 0 || extent > most_counted)
        throw std::runtime_error(fmt::format(
            "memory of the device: an extent of {} is more than the {} that Halide can count", extent, most_counted));
    return static_cast<std::int32_t>(extent);
}

}  // namespace

void run_halide(device_kind kind, const char *what, const std::function<int(void *user_context)> &work) {
    detail::install_halide_hooks();
    detail::call_context context;
    context.device = kind;
    const detail::context_scope scope(&context);
    const int result = work(&context);
    if (result == 0 && context.error_text.empty()) return;
    throw std::runtime_error(fmt::format(
        "{}: {}", what, context.error_text.empty() ? fmt::format("it returned {}", result) : context.error_text));
}

device_scope::device_scope(device_kind kind) {
    if (kind != device_kind::cuda) return;
    run_halide(kind, "entering CUDA's context", [&](void *user_context) {
        const auto enter =
            reinterpret_cast<int (*)(void *)>(halide_cuda_get_symbol(user_context, "cuCtxPushCurrent_v2"));
        void *context = nullptr;
        const int result = halide_cuda_acquire_context(user_context, &context, true);
        if (result != 0 || enter == nullptr) return result != 0 ? result : halide_error_code_symbol_not_found;
        entered_ = enter(context) == 0;
        halide_cuda_release_context(user_context);
        return entered_ ? 0 : static_cast<int>(halide_error_code_gpu_device_error);
    });
}

device_scope::~device_scope() {
    if (!entered_) return;
    const auto leave = reinterpret_cast<int (*)(void **)>(halide_cuda_get_symbol(nullptr, "cuCtxPopCurrent_v2"));
    void *context = nullptr;
    if (leave != nullptr) leave(&context);
}

buffer_extents extents_of(std::int64_t elements) {
    if (elements <= most_counted) return {elements};
    // A tensor of attention has divisors enough; what has none up to here is refused rather than padded, since as much
    // as the buffer holds is copied from the host.
    constexpr std::int64_t most_rows = 1 << 16;
    for (std::int64_t rows = elements / most_counted; rows <= most_rows; ++rows)
        if (elements % rows == 0 && elements / rows <= most_counted) return {elements / rows, rows};
    throw std::runtime_error(
        fmt::format("memory of the device: a tensor of {} elements is no product of two numbers up to {}, which Halide "
                    "can count. Fix: smaller lengths (--seq, --q, --kv) or a smaller --batch",
                    elements, most_counted));
}

device_buffer::device_buffer(device_kind kind, halide_type_t type, const buffer_extents &extents)
    : kind_(kind), dimensions_{{0, counted(extents.columns), 1}, {0, counted(extents.rows), counted(extents.columns)}} {
    buffer_.type = type;
    buffer_.dimensions = extents.rows == 0 ? 1 : 2;
    buffer_.dim = dimensions_;
    run_halide(kind_, "memory of the device", [&](void *user_context) {
        return halide_device_malloc(user_context, &buffer_, detail::functions_of(kind).interface());
    });
}

device_buffer::~device_buffer() {
    buffer_.host = nullptr;
    buffer_.flags = 0;
    try {
        run_halide(kind_, "memory of the device",
                   [&](void *user_context) { return halide_device_free(user_context, &buffer_); });
    } catch (const std::exception &) {
        // A device that has failed before; the failure was reported.
    }
}

std::uintptr_t device_buffer::address() {
    std::uintptr_t result = 0;
    run_halide(kind_, "memory of the device", [&](void *user_context) {
        result = detail::functions_of(kind_).handle(user_context, &buffer_);
        return 0;
    });
    return result;
}

void device_buffer::upload(const void *from) {
    buffer_.host = static_cast<std::uint8_t *>(const_cast<void *>(from));
    buffer_.flags = halide_buffer_flag_host_dirty;
    run_halide(kind_, "copying to the device", [&](void *user_context) {
        return halide_copy_to_device(user_context, &buffer_, detail::functions_of(kind_).interface());
    });
    finish();
    buffer_.host = nullptr;
    buffer_.flags = 0;
}

void device_buffer::download(void *into) {
    buffer_.host = static_cast<std::uint8_t *>(into);
    buffer_.flags = halide_buffer_flag_device_dirty;
    run_halide(kind_, "copying from the device",
               [&](void *user_context) { return halide_copy_to_host(user_context, &buffer_); });
    buffer_.host = nullptr;
    buffer_.flags = 0;
}

void device_buffer::finish() {
    run_halide(kind_, "waiting for the device",
               [&](void *user_context) { return halide_device_sync(user_context, &buffer_); });
}

}  // namespace heed::runner
