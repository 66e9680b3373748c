// SPDX-License-Identifier: MIT
//
// Instruction sets: the levels that a kernel library may hold kernels for. A call runs the best one that both the
// library and this CPU have. The option `isa` of a call, else the environment variable HEED_ISA, forces one.
#pragma once

namespace heed {

/// The levels, the best first: "avx512" (F, BW, CD, DQ, VL), "avx2" (AVX2, FMA, F16C), "x86_64" (SSE2); on 64-bit ARM
/// "neon", which every such processor has.
inline constexpr const char *isa_names[] = {"avx512", "avx2", "x86_64", "neon"};

/// What kernels of devices bear in the place of a level, the best first: CUDA's with the compute capability that they
/// need. A call runs them only where it is told to: by such a name as its `isa`, or by asking for a GPU, which an `isa`
/// may then narrow down; see device.hpp. An `isa` of "cuda" names CUDA's kernels whatever capability they need: the
/// best that the library holds and the device can run. As HEED_ISA, names of devices are ignored by what only CPUs have
/// kernels for: the pass "weights" and calls with a cache.
inline constexpr const char *device_isa_names[] = {"cuda_86", "cuda_80", "cuda_75", "opencl", "vulkan"};

/// Whether this CPU and its operating system can run the level, false for all other names, those of devices
/// included.
bool isa_available(const char *name) noexcept;

}  // namespace heed
