// SPDX-License-Identifier: MIT

#include <heed/threads.hpp>

#include <doctest/doctest.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "call_context.hpp"
#include "fake_control.hpp"
#include "problem.hpp"
#include "thread_pool.hpp"

namespace {

std::mutex seen_lock;
std::set<std::thread::id> seen;

void note_thread(int) {
    {
        const std::lock_guard<std::mutex> lock(seen_lock);
        seen.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

std::string refusal(void (*action)()) {
    try {
        action();
    } catch (const heed::invalid_argument_error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

std::atomic<int> counts[1000];

int count_task(void *, int task, std::uint8_t *) {
    ++counts[task];
    return 0;
}

int nested_task(void *user_context, int task, std::uint8_t *) {
    return heed::detail::run_tasks(*static_cast<heed::detail::call_context *>(user_context), count_task, task * 10, 10,
                                   nullptr);
}

int fail_at_seven(void *, int task, std::uint8_t *) {
    ++counts[task];
    return task == 7 ? -7 : 0;
}

void clear_counts() {
    for (std::atomic<int> &count : counts) {
        count = 0;
    }
}

bool each_once(int first, int size) {
    for (int i = 0; i < 1000; ++i) {
        if (counts[i] != (i >= first && i < first + size)) {
            return false;
        }
    }
    return true;
}

}  // namespace

TEST_CASE("a loop runs each of its tasks once") {
    for (const int limit : {1, 2, 3, 8}) {
        for (const int size : {0, 1, 2, 7, 900}) {
            clear_counts();
            heed::detail::call_context context;
            context.thread_limit = limit;
            CHECK(heed::detail::run_tasks(context, count_task, 50, size, nullptr) == 0);
            CHECK(each_once(50, size));
            CHECK(context.active_threads == 1);
        }
    }
}

TEST_CASE("loops within loops") {
    clear_counts();
    heed::detail::call_context context;
    context.thread_limit = 4;
    CHECK(heed::detail::run_tasks(context, nested_task, 0, 100, nullptr) == 0);
    CHECK(each_once(0, 1000));
}

TEST_CASE("a failed task ends the loop") {
    for (const int limit : {1, 4}) {
        clear_counts();
        heed::detail::call_context context;
        context.thread_limit = limit;
        CHECK(heed::detail::run_tasks(context, fail_at_seven, 0, 1000, nullptr) == -7);
        CHECK(counts[7] == 1);
        CHECK(counts[999] == 0);
    }
}

TEST_CASE("the number of threads of a call") {
    const control_scope scope;
    problem p = problem::mha(8, 64, 400);
    problem small = problem::mha(8, 1, 1);
    const auto threads_used_by = [](problem &p, int threads) {
        seen.clear();
        control.in_task = note_thread;
        models::mha(p.query, p.key, p.value, p.output, {{}, threads});
        CHECK(p.error(false) < 1e-6);
        return seen.size();
    };
    const auto threads_used = [&](int threads) { return threads_used_by(p, threads); };
    CHECK(threads_used_by(small, 4) == 1);  // more would wake up later than one is done
    CHECK(threads_used(1) == 1);
    CHECK(threads_used(3) == 3);
    CHECK(threads_used(2) == 2);

    heed::set_threads(4);
    CHECK(heed::threads() == 4);
    CHECK(threads_used(0) == 4);
    heed::set_threads(0);

    setenv("HEED_THREADS", "3", 1);
    CHECK(heed::threads() == 3);
    CHECK(threads_used(0) == 3);
    heed::set_threads(2);
    CHECK(heed::threads() == 2);
    heed::set_threads(0);
    unsetenv("HEED_THREADS");
    CHECK(heed::threads() >= 1);
}

TEST_CASE("numbers of threads that make no sense") {
    CHECK(refusal([] { heed::set_threads(-1); }) ==
          "heed: the argument of heed::set_threads is -1, the number of threads is between 1 and 1024; 0 asks for the "
          "default");
    for (const char *value : {"many", "2.5", "-3", "1025", " 2"}) {
        setenv("HEED_THREADS", value, 1);
        CHECK(refusal([] { (void)heed::threads(); }) ==
              "heed: environment variable HEED_THREADS is '" + std::string(value) +
                  "', the number of threads is between 1 and 1024; 0 asks for the default");
    }
    unsetenv("HEED_THREADS");
    problem p = problem::mha(1, 1, 1);
    const heed::status status = models::mha.try_run(p.query, p.key, p.value, p.output, {p.log_sum_exp, 5000});
    CHECK(status.message() ==
          "heed: option 'threads' of the call is 5000, the number of threads is between 1 and 1024; 0 asks for the "
          "default");
    CHECK(p.nothing_written());
}

TEST_CASE("several callers at once") {
    const control_scope scope;
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int caller = 0; caller < 6; ++caller) {
        callers.emplace_back([caller, &wrong] {
            for (int round = 0; round < 20; ++round) {
                problem p = problem::local_capped(1 + caller % 3, 2 + round % 4, 6);
                models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp, 1 + caller % 4});
                wrong += !(p.error(true, true) < 1e-6);
            }
        });
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    CHECK(wrong == 0);
}

TEST_CASE("one caller fails, the others do not") {
    std::vector<std::thread> callers;
    std::atomic<int> wrong{0};
    for (int caller = 0; caller < 4; ++caller) {
        callers.emplace_back([caller, &wrong] {
            for (int round = 0; round < 50; ++round) {
                problem p = problem::mha(2, 2, 3);
                if (caller == 0) {
                    p.key = {p.k.data(), {2, 3, 3, 4}};
                }
                const heed::status status = models::mha.try_run(p.query, p.key, p.value, p.output, {{}, 2});
                wrong += status.ok() != (caller != 0);
            }
        });
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    CHECK(wrong == 0);
}

namespace {

// The register that says how a thread rounds, and its bits that flush subnormal numbers to zero.
#if defined(__SSE__)
using float_mode = unsigned;
constexpr float_mode flush = 0x8040;
float_mode current_mode() { return _mm_getcsr(); }
void set_mode(float_mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
using float_mode = std::uint64_t;
constexpr float_mode flush = 1 << 24;
float_mode current_mode() {
    float_mode mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
void set_mode(float_mode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#endif

}  // namespace

TEST_CASE("all threads round as the caller does") {
    const control_scope scope;
    static float_mode expected;
    static std::atomic<int> wrong;
    const float_mode before = current_mode();
    problem p = problem::mha(8, 1, 1);
    for (const float_mode mode : {float_mode{0}, flush}) {
        expected = mode;
        wrong = 0;
        control.in_task = [](int) {
            wrong += (current_mode() & flush) != expected;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        set_mode((before & ~flush) | mode);
        models::mha(p.query, p.key, p.value, p.output, {{}, 4});
        set_mode(before);
        CHECK(wrong == 0);
    }
}
