// SPDX-License-Identifier: MIT
//
// Devices besides the CPU that a kernel library may hold kernels for. Their drivers are opened when they are first
// asked for: a program with such kernels starts on a machine without any driver, where devices() says what is missing.
//
// A call whose tensors lie in memory of a device says so by its option `memory`, copies nothing, and returns when the
// results are there. For CUDA, pointers are device pointers, of the context that is current in the calling thread, and
// work is put on the option `stream`. For OpenCL, a pointer is the cl_mem itself, of the context that Halide made, and
// a tensor begins where its cl_mem does; for Vulkan it is `device` of a halide_buffer_t that Halide allocated after
// devices() was called. Strides are free but not negative; where rows of key or value are multiples of
// four elements, their strides are, too, and they begin at a multiple of as many bytes. Nothing checks that the memory
// is the device's: a pointer to host memory crashes.
//
// Which GPU a call on memory of CUDA works on, and what that GPU can, is a matter of that context; a context that
// Halide makes for calls on host memory has no part in it.
//
// OpenCL takes the platform and the kind of device from the environment: HL_OCL_PLATFORM_NAME (a part of the name),
// HL_OCL_DEVICE_TYPE (cpu, gpu, acc), HL_GPU_DEVICE (a number; of CUDA's, too). Vulkan prefers the kind that
// HL_VK_DEVICE_TYPE names (cpu, discrete-gpu, integrated-gpu) and takes the first device where there is none of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <heed/kernel_table.hpp>

namespace heed {

/// What there is of one kind.
struct device {
    device_kind kind;
    bool available;
    std::string name;               ///< as its driver calls it; empty if there is none
    std::int64_t memory_bytes = 0;  ///< 0 if there is none, or if the driver does not tell
    int version = 0;                ///< ten times that of CUDA's compute capability, OpenCL or Vulkan: 80 is 8.0
    std::string reason;             ///< why there is none; empty if there is one
    bool is_cpu = false;            ///< its driver computes on the CPU; calls run there only if they name it by `isa`
};

/// All kinds but the CPU, the fastest first. The search happens once in a process. Processes that are forked after it
/// cannot use devices: calls there say so, or run on the CPU. They must end by _exit: what drivers do at exit waits for
/// threads that such a process does not have.
const std::vector<device> &devices();

/// That of a kind other than the CPU, which must be one that there is.
const device &device_of(device_kind kind);

/// Gives back what calls have kept of devices' memory for those to come; calls that run meanwhile are not disturbed. Of
/// CUDA, also what was compiled for the context that is current in the calling thread: a context on whose memory calls
/// worked must be current in a call of this before it is destroyed.
void release_device_memory();

/// Why the device of its kind cannot run the kernel, which is not for CPUs; empty if it can.
std::string why_unusable(const kernel_description &kernel);

}  // namespace heed
