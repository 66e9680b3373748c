// SPDX-License-Identifier: MIT
//
// What the fake kernels should do besides computing, and what they saw.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

struct fake_control {
    // Orders:
    const char *error = nullptr;                       ///< a task reports this by halide_error
    int result = 0;                                    ///< the kernel returns this
    std::size_t scratch_bytes = 64;                    ///< each task asks for so much memory
    std::atomic<void (*)(int task)> in_task{nullptr};  ///< called by each task
    // Reports:
    std::atomic<int> runs{0};
    std::atomic<const char *> isa{nullptr};

    void reset();
};

extern fake_control control;

/// Puts everything back at the end of a test.
struct control_scope {
    control_scope() { control.reset(); }
    ~control_scope() { control.reset(); }
};
