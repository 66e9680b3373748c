// SPDX-License-Identifier: MIT

#include "thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

#include <heed/error.hpp>
#include <heed/threads.hpp>

#include "call_context.hpp"
#include "text.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace heed {
namespace detail {
namespace {

/// Rounding mode and treatment of subnormal numbers, so that all threads of a call compute like the calling one.
class float_environment {
  public:
#if defined(__SSE__)
    float_environment() noexcept : mode_(_mm_getcsr()) {}
    void apply() const noexcept { _mm_setcsr(mode_); }

  private:
    unsigned mode_;
#elif defined(__aarch64__)
    float_environment() noexcept { asm volatile("mrs %0, fpcr" : "=r"(mode_)); }
    void apply() const noexcept { asm volatile("msr fpcr, %0" : : "r"(mode_)); }

  private:
    std::uint64_t mode_;
#else
    void apply() const noexcept {}
#endif
};

/// One parallel loop. Lives on the stack of the thread that started it.
struct parallel_loop {
    call_context *context;
    task_function task;
    std::uint8_t *closure;
    std::int64_t end;
    float_environment environment;
    std::atomic<std::int64_t> next;
    std::atomic<int> result{0};
    // Under the lock of the pool:
    int helpers = 0;
    parallel_loop *older = nullptr;
};

/// Workers run detached, and the state lives as long as the process: a thread that still runs while the process exits
/// finds it intact.
struct pool_state {
    std::mutex lock;
    std::condition_variable work;      ///< a loop was added, or the pool stops
    std::condition_variable finished;  ///< a loop has no helpers any more
    std::condition_variable ended;     ///< a worker has ended
    parallel_loop *newest = nullptr;
    int workers = 0;
    int idle = 0;
    std::atomic<bool> stopping{false};
};

alignas(pool_state) unsigned char pool_storage[sizeof(pool_state)];
thread_local bool is_worker = false;

pool_state &pool();

void take_tasks(parallel_loop &loop, const std::atomic<bool> *stopping) noexcept {
    for (;;) {
        if (stopping != nullptr && stopping->load(std::memory_order_relaxed)) {
            return;
        }
        const std::int64_t i = loop.next.fetch_add(1, std::memory_order_relaxed);
        if (i >= loop.end) {
            return;
        }
        const int result = loop.task(loop.context, static_cast<int>(i), loop.closure);
        if (result != 0) {
            loop.result.store(result, std::memory_order_relaxed);
            loop.next.store(loop.end, std::memory_order_relaxed);
        }
    }
}

parallel_loop *find_work(const pool_state &state) noexcept {
    for (parallel_loop *candidate = state.newest; candidate != nullptr; candidate = candidate->older) {
        if (candidate->next.load(std::memory_order_relaxed) < candidate->end &&
            candidate->context->active_threads < candidate->context->thread_limit) {
            return candidate;
        }
    }
    return nullptr;
}

void work(pool_state &state) noexcept {
    is_worker = true;
    std::unique_lock<std::mutex> lock(state.lock);
    while (!state.stopping.load(std::memory_order_relaxed)) {
        parallel_loop *loop = find_work(state);
        if (loop == nullptr) {
            ++state.idle;
            state.work.wait(lock);
            --state.idle;
            continue;
        }
        ++loop->helpers;
        ++loop->context->active_threads;
        lock.unlock();
        {
            const context_scope scope(loop->context);
            loop->environment.apply();
            take_tasks(*loop, &state.stopping);
        }
        lock.lock();
        --loop->context->active_threads;
        if (--loop->helpers == 0) {
            state.finished.notify_all();
        }
    }
    --state.workers;
    state.ended.notify_all();
}

/// Starts workers until there are `count`, or as many as the system allows. The lock is held.
void start_workers(pool_state &state, int count) noexcept {
    if (state.workers >= count) {
        return;
    }
    // Signals go to the threads of the program, save those that a fault of a worker itself raises.
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGPROF}) {
        sigdelset(&blocked, fault);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    try {
        while (state.workers < count) {
            std::thread worker([&state] { work(state); });
            pthread_setname_np(worker.native_handle(), "heed");
            worker.detach();
            ++state.workers;
        }
    } catch (const std::system_error &) {
        // Fewer threads do the same work.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Ends the workers when the process exits or the library is unloaded.
struct pool_end {
    ~pool_end() {
        pool_state &state = pool();
        std::unique_lock<std::mutex> lock(state.lock);
        state.stopping.store(true, std::memory_order_relaxed);
        state.work.notify_all();
        if (!is_worker) {
            state.ended.wait(lock, [&] { return state.workers == 0; });
        }
    }
};

void lock_before_fork() { pool().lock.lock(); }
void unlock_after_fork() { pool().lock.unlock(); }

/// The child has none of the workers: it starts with an empty pool.
void renew_in_child() { new (pool_storage) pool_state; }

pool_state &pool() {
    static pool_state *const state = [] {
        pool_state *made = new (pool_storage) pool_state;
        pthread_atfork(lock_before_fork, unlock_after_fork, renew_in_child);
        return made;
    }();
    static const pool_end end;
    return *state;
}

int count_cpus() noexcept {
    cpu_set_t usable;
    CPU_ZERO(&usable);
    int count = sched_getaffinity(0, sizeof(usable), &usable) == 0
                    ? CPU_COUNT(&usable)
                    : static_cast<int>(std::thread::hardware_concurrency());
    return std::clamp(count, 1, max_threads);
}

std::atomic<int> chosen_threads{0};

[[noreturn]] void refuse_count(std::string_view origin, std::string_view value) {
    throw invalid_argument_error(text("heed: ", origin, " is ", value, ", the number of threads is between 1 and ",
                                      max_threads, "; 0 asks for the default"));
}

int checked_count(int count, std::string_view origin) {
    if (count < 0 || count > max_threads) {
        refuse_count(origin, std::to_string(count));
    }
    return count;
}

int environment_threads() {
    const char *value = std::getenv("HEED_THREADS");
    if (value == nullptr || *value == '\0') {
        return 0;
    }
    int count = 0;
    const char *end = value + std::strlen(value);
    const auto [rest, failure] = std::from_chars(value, end, count);
    if (failure != std::errc() || rest != end || count < 0 || count > max_threads) {
        refuse_count("environment variable HEED_THREADS", text("'", value, "'"));
    }
    return count;
}

}  // namespace

int run_tasks(call_context &context, task_function task, int first, int size, std::uint8_t *closure) {
    if (size <= 0) {
        return 0;
    }
    parallel_loop loop{&context, task, closure, std::int64_t{first} + size, {}, first};
    const int helpers = std::min(context.thread_limit, size) - 1;
    if (helpers == 0) {
        take_tasks(loop, nullptr);
        return loop.result;
    }
    pool_state &state = pool();
    {
        const std::lock_guard<std::mutex> lock(state.lock);
        if (!state.stopping.load(std::memory_order_relaxed)) {
            start_workers(state, helpers);
        }
        loop.older = state.newest;
        state.newest = &loop;
        for (int i = std::min(helpers, state.idle); i > 0; --i) {
            state.work.notify_one();
        }
    }
    take_tasks(loop, nullptr);
    std::unique_lock<std::mutex> lock(state.lock);
    parallel_loop **link = &state.newest;
    while (*link != &loop) {
        link = &(*link)->older;
    }
    *link = loop.older;
    state.finished.wait(lock, [&] { return loop.helpers == 0; });
    return loop.result;
}

int thread_limit(int requested) {
    const int count = checked_count(requested, "option 'threads' of the call");
    return count == 0 ? threads() : count;
}

}  // namespace detail

void set_threads(int count) {
    detail::chosen_threads = detail::checked_count(count, "the argument of heed::set_threads");
}

int threads() {
    static const int cpus = detail::count_cpus();
    const int chosen = detail::chosen_threads;
    if (chosen != 0) {
        return chosen;
    }
    const int from_environment = detail::environment_threads();
    return from_environment != 0 ? from_environment : cpus;
}

}  // namespace heed
