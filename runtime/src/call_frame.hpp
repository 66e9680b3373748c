// SPDX-License-Identifier: MIT
//
// What all calls begin and end with.
#pragma once

#include <algorithm>
#include <new>

#include <heed/error.hpp>
#include <heed/kernel_table.hpp>

#include "thread_pool.hpp"

namespace heed::detail {

/// The variant of a call. Throws invalid_argument_error without one.
template <typename Arguments>
const variant_description &variant_of(const Arguments &arguments) {
    if (arguments.variant == nullptr) {
        throw invalid_argument_error("heed: the call has no variant. Fix: pass one of a library's variants");
    }
    return *arguments.variant;
}

/// A reason that a call finds in `why_cpu` is one of an earlier call.
template <typename Arguments>
void forget_reason(const Arguments &arguments) noexcept {
    if (arguments.why_cpu != nullptr) {
        arguments.why_cpu->clear();
    }
}

/// Floating-point operations of so many queries that each see so many keys.
inline double operations_of(const variant_description &variant, std::int64_t queries, std::int64_t keys) noexcept {
    return 2.0 * (variant.head_dim + variant.value_dim) * variant.heads * static_cast<double>(queries) *
           static_cast<double>(keys);
}

/// Waking a thread takes about as long as so many operations.
inline constexpr double operations_per_thread = 1e6;

/// Threads that have enough to do, of those that a call asks for. Throws invalid_argument_error.
inline int useful_threads(double work, double work_per_thread, int requested) {
    return static_cast<int>(std::clamp(work / work_per_thread, 1.0, static_cast<double>(thread_limit(requested))));
}

/// Runs `call()`; what it throws is a heed::error.
template <typename Call>
void throw_errors_only(const Call &call) {
    try {
        call();
    } catch (const std::bad_alloc &) {
        throw out_of_memory_error("heed: out of memory");
    }
}

}  // namespace heed::detail
