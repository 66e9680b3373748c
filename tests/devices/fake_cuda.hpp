// SPDX-License-Identifier: MIT
//
// What tests tell the driver of fake_cuda.cpp, and what it saw: `fake_cuda` of the library that is open.
#pragma once

/// A context of CUDA; tests make their own.
struct fake_context {
    int gpu = 0;  ///< number 1 has the compute capability 7.5
};

struct fake_cuda_control {
    // Orders: the allocation, launch or copy to the host of this number fails, and all after it; 0: none.
    int failing_allocation, failing_launch, failing_copy;
    // Reports:
    int allocations, launches, copies_to_host;
    int live_allocations, live_modules, contexts_made, synchronised;
    unsigned long long largest_allocation;  ///< in bytes
    int elsewhere;  ///< launches that were in another context than `context` or on another stream than `stream`
    void *context, *stream;
};
