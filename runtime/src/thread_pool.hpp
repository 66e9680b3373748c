// SPDX-License-Identifier: MIT
//
// The thread pool. The thread that starts a parallel loop takes tasks from it in order until none are left, and so do
// waiting workers, up to the thread limit of the call.
#pragma once

#include <cstdint>

namespace heed::detail {

struct call_context;

using task_function = int (*)(void *user_context, int task, std::uint8_t *closure);

/// Runs task(context, i, closure) for the `size` numbers from `first`. Returns 0, or what a failed task returned; tasks
/// that have not started when one fails are left out.
int run_tasks(call_context &context, task_function task, int first, int size, std::uint8_t *closure);

/// The number of threads for a call whose option is `requested`. Throws invalid_argument_error.
int thread_limit(int requested);

}  // namespace heed::detail
