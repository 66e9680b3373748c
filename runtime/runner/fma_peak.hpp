// SPDX-License-Identifier: MIT
//
// Yardstick 1: how many multiplications and additions this machine does at a level.
#pragma once

#include <string>

namespace heed::runner {

/// FLOP/s of independent multiply-adds (f32) in registers on `threads` threads at once, the best of several
/// milliseconds: FMA for "avx512", "avx2" and "neon", separate multiplications and additions for "x86_64". 0 for a
/// level that this runner does not know, or that is of another processor.
double measure_fma_peak(const std::string &isa, int threads);

}  // namespace heed::runner
