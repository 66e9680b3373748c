// SPDX-License-Identifier: MIT

#include <heed/yardsticks.hpp>

extern "C" {
int heed_multiply_add_cuda_argv(void **arguments);
int heed_fill_cuda_argv(void **arguments);
int heed_read_cuda_argv(void **arguments);
int heed_multiply_add_opencl_argv(void **arguments);
int heed_fill_opencl_argv(void **arguments);
int heed_read_opencl_argv(void **arguments);
int heed_multiply_add_vulkan_argv(void **arguments);
int heed_fill_vulkan_argv(void **arguments);
int heed_read_vulkan_argv(void **arguments);
}

namespace heed {
namespace {

constexpr device_yardsticks list[] = {
    {device_kind::cuda, heed_multiply_add_cuda_argv, heed_fill_cuda_argv, heed_read_cuda_argv},
    {device_kind::opencl, heed_multiply_add_opencl_argv, heed_fill_opencl_argv, heed_read_opencl_argv},
    {device_kind::vulkan, heed_multiply_add_vulkan_argv, heed_fill_vulkan_argv, heed_read_vulkan_argv}};

}  // namespace

const device_yardstick_list all_device_yardsticks{list, sizeof list / sizeof *list};

}  // namespace heed
