// SPDX-License-Identifier: MIT

#include <heed/device.hpp>

#include <algorithm>

#include "call_context.hpp"

// Halide's runtime exports these without declaring them in a header.
extern "C" {
int halide_opencl_compute_capability(void *user_context, int *major, int *minor);
int halide_acquire_cl_context(void *user_context, void **context, void **queue, bool create);
int halide_release_cl_context(void *user_context);
void *halide_opencl_get_symbol(void *user_context, const char *name);
}

namespace heed {
namespace {

/// What OpenCL says of the device that Halide has chosen; nothing where it does not answer.
void describe_opencl(device &found, void *user_context) {
    using get_info = int (*)(void *of, unsigned what, std::size_t size, void *into, std::size_t *needed);
    constexpr unsigned context_devices = 0x1081, device_name = 0x102b, device_memory = 0x101f;
    const auto of_context =
        reinterpret_cast<get_info>(halide_opencl_get_symbol(user_context, "clGetContextInfo"));
    const auto of_device = reinterpret_cast<get_info>(halide_opencl_get_symbol(user_context, "clGetDeviceInfo"));
    void *context = nullptr, *queue = nullptr;
    if (of_context == nullptr || of_device == nullptr ||
        halide_acquire_cl_context(user_context, &context, &queue, true) != 0) {
        return;
    }
    void *id = nullptr;
    char name[256] = {};
    std::uint64_t bytes = 0;
    if (context != nullptr && of_context(context, context_devices, sizeof id, &id, nullptr) == 0) {
        if (of_device(id, device_name, sizeof name - 1, name, nullptr) == 0) found.name = name;
        if (of_device(id, device_memory, sizeof bytes, &bytes, nullptr) == 0)
            found.memory_bytes = static_cast<std::int64_t>(bytes);
    }
    halide_release_cl_context(user_context);
}

device search_opencl() {
    device found{device_kind::opencl, false, {}, 0, {}};
    detail::install_halide_hooks();
    detail::call_context context;
    const detail::context_scope scope(&context);
    int major = 0, minor = 0;
    const int result = halide_opencl_compute_capability(&context, &major, &minor);
    if (result == 0 && major > 0 && context.error_text.empty()) {
        found.available = true;
        describe_opencl(found, &context);
    } else if (!context.error_text.empty()) {
        found.reason = context.error_text;
    } else {
        found.reason = "libOpenCL.so is not there, or has no device";
    }
    return found;
}

}  // namespace

const std::vector<device> &devices() {
    static const std::vector<device> all{search_opencl()};
    return all;
}

const device &device_of(device_kind kind) {
    return *std::find_if(devices().begin(), devices().end(), [kind](const device &each) { return each.kind == kind; });
}

}  // namespace heed
