// SPDX-License-Identifier: MIT
//
// What the build writes for a kernel library: kernels, the table that lists them, the header that calls them.
#pragma once

#include <heed/run_generator.hpp>

#include <string>
#include <vector>

#include "algorithm.hpp"
#include "gpu_targets.hpp"

namespace heed::generators {

/// What heed_add_kernels was asked for: one of PASSES, of SCHEDULES, of DTYPES and of TARGETS. All variants have the
/// same choices.
struct kernel_choice {
    std::string pass, schedule, dtype, target;
};

/// One kernel to be: an entry of the list that emission and table share.
struct kernel_plan {
    std::string name;    ///< <variant>_<pass>_<schedule>_<dtype>_<isa>
    std::string symbol;  ///< heed_<library>_<name>
    std::string isa, pass, schedule;
    const gpu_target *gpu = nullptr;  ///< null for CPUs
    bool is_for_gpus() const { return gpu != nullptr; }
    storage_types types;
    Halide::Target target;
};

/// Throws std::invalid_argument if there is no such target, no schedule for it, or no such type.
kernel_plan plan_kernel(const generator_library &library, const variant_source &variant, const kernel_choice &choice);

/// Writes <base>.s; `with_loops`, Halide's lowered statement beside it, <base>.stmt; and `with_device_code`, for a GPU,
/// what its driver gets to compile (PTX, OpenCL C, SPIR-V), <base>.device. For a GPU also <base>.block, lines of a name
/// and a value: how the main kernel is launched. The build may add lines, see gpu_registers.cmake.
void emit_kernel(const variant_source &variant, const kernel_plan &plan, const std::string &base, bool with_loops,
                 bool with_device_code);

std::string header_text(const generator_library &library);
/// `folder`: of the files that emit_kernel wrote, named after the kernels.
std::string table_text(const generator_library &library, const std::vector<kernel_choice> &choices,
                       const std::string &folder);

}  // namespace heed::generators
