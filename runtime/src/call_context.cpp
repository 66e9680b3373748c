// SPDX-License-Identifier: MIT

#include "call_context.hpp"

#include <HalideRuntime.h>

#include <atomic>
#include <string_view>

#include "scratch.hpp"
#include "thread_pool.hpp"

namespace heed::detail {
namespace {

thread_local call_context *current = nullptr;

// What the process did before.
std::atomic<halide_do_par_for_t> previous_do_par_for{halide_default_do_par_for};
std::atomic<halide_error_handler_t> previous_error{halide_default_error};
std::atomic<halide_malloc_t> previous_malloc{halide_default_malloc};
std::atomic<halide_free_t> previous_free{halide_default_free};

/// The context of the running call if `user_context` is one. A foreign pointer is never looked into.
call_context *ours(void *user_context) noexcept {
    return user_context != nullptr && user_context == current ? current : nullptr;
}

int do_par_for(void *user_context, halide_task_t task, int min, int size, std::uint8_t *closure) {
    call_context *context = ours(user_context);
    return context == nullptr ? previous_do_par_for.load()(user_context, task, min, size, closure)
                              : run_tasks(*context, task, min, size, closure);
}

void on_error(void *user_context, const char *message) {
    call_context *context = ours(user_context);
    if (context == nullptr) {
        previous_error.load()(user_context, message);
        return;
    }
    const std::lock_guard<std::mutex> lock(context->error_lock);
    if (!context->error_text.empty()) {
        return;
    }
    std::string_view text = message;
    while (!text.empty() && text.back() == '\n') {
        text.remove_suffix(1);
    }
    try {
        context->error_text = text;
    } catch (...) {
        context->out_of_memory = true;
    }
}

void *on_malloc(void *user_context, std::size_t bytes) {
    call_context *context = ours(user_context);
    if (context == nullptr) {
        return previous_malloc.load()(user_context, bytes);
    }
    void *block = allocate_scratch(bytes);
    if (block == nullptr) {
        const std::lock_guard<std::mutex> lock(context->error_lock);
        context->out_of_memory = true;
        context->refused_bytes = bytes;
    }
    return block;
}

void on_free(void *user_context, void *block) {
    if (ours(user_context) == nullptr) {
        previous_free.load()(user_context, block);
    } else {
        free_scratch(block);
    }
}

}  // namespace

call_context *current_context() noexcept { return current; }

context_scope::context_scope(call_context *context) noexcept : previous_(current) { current = context; }

context_scope::~context_scope() { current = previous_; }

void install_halide_hooks() {
    // halide_print stays as it is: only kernels built for tracing print, on request of whoever built them.
    static const bool installed = [] {
        previous_do_par_for = halide_set_custom_do_par_for(do_par_for);
        previous_error = halide_set_error_handler(on_error);
        previous_malloc = halide_set_custom_malloc(on_malloc);
        previous_free = halide_set_custom_free(on_free);
        return true;
    }();
    (void)installed;
}

}  // namespace heed::detail
