// SPDX-License-Identifier: MIT
//
// The time that several threads need for the same work, from a common start.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace heed::runner {

/// Calls `work(thread)` on each of `threads` threads and returns the seconds from the common start to the last end.
/// Starting the threads is not part of it.
template <typename Work>
double time_team(int threads, const Work &work) {
    using clock = std::chrono::steady_clock;
    std::atomic<int> waiting{threads - 1};
    std::atomic<bool> go{false};
    std::vector<std::thread> helpers;
    for (int t = 1; t < threads; ++t)
        helpers.emplace_back([&, t] {
            --waiting;
            while (!go) std::this_thread::yield();
            work(t);
            ++waiting;
        });
    while (waiting > 0) std::this_thread::yield();
    const auto begin = clock::now();
    go = true;
    work(0);
    while (waiting < threads - 1) std::this_thread::yield();
    const double seconds = std::chrono::duration<double>(clock::now() - begin).count();
    for (std::thread &helper : helpers) helper.join();
    return seconds;
}

}  // namespace heed::runner
