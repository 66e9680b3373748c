// SPDX-License-Identifier: MIT
#include "gpu_targets.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace heed::generators {

using Halide::Expr;

namespace {

// One instruction of the special function units, where a polynomial takes a dozen. Arguments of a softmax lie below 0,
// and results below 2^-126 are 0.
Expr exponential_of_cuda(const Expr &x) {
    using Halide::Internal::Call;
    return Call::make(Halide::Float(32), "llvm.nvvm.ex2.approx.ftz.f", {x * 1.44269504088896340736f}, Call::PureExtern);
}

// Vulkan has one as well, and its drivers cancel numbers that strict operations should keep apart.
Expr exponential_of_vulkan(const Expr &x) { return Halide::exp(x); }

const std::vector<gpu_target> &gpu_targets() {
    // Halide's runtime for CUDA asks for no more shared memory than every device has; drivers of OpenCL and Vulkan
    // tell, and these are what GPUs of the last ten years and the drivers for CPUs have at least.
    constexpr int many = 48 << 10, few = 32 << 10;
    const auto cuda = [](const char *name, const std::string &version) {
        return gpu_target{
            name, "cuda_" + version,  "cuda", "x86-64-linux-cuda-cuda_capability_" + version, std::stoi(version), many,
            true, exponential_of_cuda};
    };
    static const std::vector<gpu_target> targets{
        cuda("cuda_capability_86", "86"),
        cuda("cuda", "80"),
        cuda("cuda_capability_80", "80"),
        cuda("cuda_capability_75", "75"),
        {"opencl", "opencl", "opencl", "x86-64-linux-opencl", 0, many, false, exp_of_nonpositive},
        {"vulkan", "vulkan", "vulkan", "x86-64-linux-vulkan-vk_int16-vk_int64", 0, few, false, exponential_of_vulkan}};
    return targets;
}

}  // namespace

const gpu_target *find_gpu_target(const std::string &name) {
    const auto found = std::find_if(gpu_targets().begin(), gpu_targets().end(),
                                    [&](const gpu_target &target) { return target.name == name; });
    return found == gpu_targets().end() ? nullptr : &*found;
}

const std::vector<std::string> &gpu_isas() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (const gpu_target &target : gpu_targets()) {
            if (std::find(all.begin(), all.end(), target.isa) == all.end()) all.push_back(target.isa);
        }
        return all;
    }();
    return names;
}

}  // namespace heed::generators
