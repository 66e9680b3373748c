// SPDX-License-Identifier: MIT
//
// Which kernel of a device a call runs.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <string>

namespace heed::detail {

/// What a call asks for.
struct kernel_request {
    const variant_description &variant;
    const char *pass;
    tensor_types types;
    std::int64_t q_len;
    const char *schedule;  ///< or null
    const char *isa;       ///< or null
    device_kind memory;    ///< where the tensors lie
};

struct device_choice {
    const kernel_description *kernel = nullptr;
    std::string reason, fix;  ///< if there is no kernel
};

/// A kernel that a device of this machine runs: one of the kind in whose memory the tensors lie, or of any. Throws
/// invalid_argument_error for an `isa` that is not one of such a device, unsupported_error for one that there is not,
/// or for a schedule that no kernel has.
device_choice find_device_kernel(const kernel_request &request);

/// The kernel that a call runs on this CPU because no device does. Throws unsupported_error.
const kernel_description &find_cpu_kernel(const kernel_request &request);

/// Why a call on tensors in this memory cannot run the kernel, which is not for CPUs; empty if it can. Memory of CUDA
/// belongs to the context that is current in the calling thread, and so to its GPU.
std::string why_unusable(const kernel_description &kernel, device_kind memory);

/// Whether this process was forked from one that had used drivers, whose calls would not return here.
bool drivers_are_lost() noexcept;

}  // namespace heed::detail
