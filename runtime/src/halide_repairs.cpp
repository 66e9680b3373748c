// SPDX-License-Identifier: MIT

#include "halide_repairs.hpp"

#include <algorithm>
#include <cstdint>
#include <mutex>

#include "call_context.hpp"
#include "vulkan_context.hpp"

// Halide's runtime exports these without declaring them in a header. The pointers are those of the drivers' functions.
namespace Halide::Runtime::Internal {
extern bool halide_reuse_device_allocations_flag;

namespace Cuda {
extern int (*cuModuleLoadDataEx)(void **module, const void *ptx, unsigned count, int *options, void **values);
}

namespace Vulkan {
struct memory_requirements {
    std::uint64_t size, alignment;
    std::uint32_t types;
};
extern void (*vkGetBufferMemoryRequirements)(void *device, void *buffer, memory_requirements *into);
}  // namespace Vulkan
}  // namespace Halide::Runtime::Internal

namespace heed::detail {
namespace {

using Halide::Runtime::Internal::halide_reuse_device_allocations_flag;
using Halide::Runtime::Internal::Cuda::cuModuleLoadDataEx;
using Halide::Runtime::Internal::Vulkan::memory_requirements;
using Halide::Runtime::Internal::Vulkan::vkGetBufferMemoryRequirements;

decltype(cuModuleLoadDataEx) load_module_of_driver = nullptr;
decltype(vkGetBufferMemoryRequirements) requirements_of_driver = nullptr;

/// Halide 21 limits threads to 64 registers, whatever a kernel needs; kernels of attention would keep a part of their
/// sums in memory.
int load_module(void **module, const void *ptx, unsigned, int *, void **) {
    return load_module_of_driver(module, ptx, 0, nullptr, nullptr);
}

/// Halide 21 divides memory as if all sizes were multiples of their alignment, and gives the same bytes away twice
/// where they are not (mended in Halide by #9223 and #9224). 256 is the largest alignment that a buffer may ask for.
void rounded_requirements(void *device, void *buffer, memory_requirements *into) {
    requirements_of_driver(device, buffer, into);
    into->alignment = std::max<std::uint64_t>(into->alignment, 256);
    into->size = (into->size + into->alignment - 1) / into->alignment * into->alignment;
}

template <typename Function>
void replace(Function &pointer, Function &driver, Function ours) {
    if (pointer != nullptr && pointer != ours) {
        driver = pointer;
        pointer = ours;
    }
}

}  // namespace

void repair_halide(device_kind kind, void *user_context) {
    static std::mutex one_at_a_time;
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    if (kind == device_kind::cuda) {
        replace(cuModuleLoadDataEx, load_module_of_driver, load_module);
    } else if (kind == device_kind::vulkan) {
        // Whose making loads the driver.
        if (const vulkan_context context(user_context); context.acquired()) {
            replace(vkGetBufferMemoryRequirements, requirements_of_driver, rounded_requirements);
        }
    }
}

}  // namespace heed::detail

/// Halide asks this before it keeps freed memory of a device for later, and provides the function to be replaced. What
/// it keeps of Vulkan's it may take for larger than it is (mended in Halide by #9224).
extern "C" bool halide_can_reuse_device_allocations(void *user_context) {
    const heed::detail::call_context *context = heed::detail::current_context();
    const bool is_for_vulkan =
        context != nullptr && context == user_context && context->device == heed::device_kind::vulkan;
    return !is_for_vulkan && heed::detail::halide_reuse_device_allocations_flag;
}
