// SPDX-License-Identifier: MIT

#include "device_functions.hpp"

#include <HalideRuntimeCuda.h>
#include <HalideRuntimeOpenCL.h>
#include <HalideRuntimeVulkan.h>

#include <algorithm>
#include <iterator>

// Halide's runtime exports these without declaring them in a header.
extern "C" {
int halide_vulkan_wrap_vk_buffer(void *user_context, halide_buffer_t *buffer, std::uint64_t handle);
int halide_vulkan_detach_vk_buffer(void *user_context, halide_buffer_t *buffer);
std::uintptr_t halide_vulkan_get_vk_buffer(void *user_context, halide_buffer_t *buffer);
}

namespace heed::detail {
namespace {

constexpr device_functions all[] = {{device_kind::cuda, halide_cuda_device_interface, halide_cuda_wrap_device_ptr,
                                     halide_cuda_detach_device_ptr, halide_cuda_get_device_ptr},
                                    {device_kind::opencl, halide_opencl_device_interface, halide_opencl_wrap_cl_mem,
                                     halide_opencl_detach_cl_mem, halide_opencl_get_cl_mem},
                                    {device_kind::vulkan, halide_vulkan_device_interface, halide_vulkan_wrap_vk_buffer,
                                     halide_vulkan_detach_vk_buffer, halide_vulkan_get_vk_buffer}};

}  // namespace

const device_functions &functions_of(device_kind kind) noexcept {
    return *std::find_if(std::begin(all), std::end(all), [kind](const auto &each) { return each.kind == kind; });
}

}  // namespace heed::detail
