// SPDX-License-Identifier: MIT
//
// How the README asks for a GPU.
#include "on_gpu.hpp"

#include "heed_device_kernels.hpp"

#include <heed/device.hpp>

#include <string>

void attend(const heed::view<const float, 4> &query, const heed::view<const float, 4> &key,
            const heed::view<const float, 4> &value, const heed::view<float, 4> &output) {
    std::string why_cpu;  // stays empty where a GPU did it
    heed::call_options options;
    options.device = heed::device_preference::gpu_else_cpu;
    options.why_cpu = &why_cpu;
    kernels::dense(query, key, value, output, options);  // tensors in host memory, which the call moves
}
