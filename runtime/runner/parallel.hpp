// SPDX-License-Identifier: MIT
//
// The runner's own loop over threads, for the oracle and the yardsticks: independent of the runtime that it measures.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace heed::runner {

/// Calls `body(i)` for each i in [0, count), on all cores. `body` must not throw.
template <typename Body>
void parallel_for(std::int64_t count, const Body &body) {
    std::atomic<std::int64_t> next{0};
    const auto work = [&] {
        for (std::int64_t i = next++; i < count; i = next++) body(i);
    };
    const auto cores = static_cast<std::int64_t>(std::max(1u, std::thread::hardware_concurrency()));
    std::vector<std::thread> helpers;
    for (std::int64_t t = 1; t < std::min(cores, count); ++t) helpers.emplace_back(work);
    work();
    for (std::thread &helper : helpers) helper.join();
}

}  // namespace heed::runner
