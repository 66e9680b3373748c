// SPDX-License-Identifier: MIT
//
// Yardstick 2: how fast this machine reads a given number of bytes.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace heed::runner {

/// Reads of memory as large as a call's keys and values, 1 GiB at most.
class read_bandwidth {
  public:
    explicit read_bandwidth(std::size_t bytes);

    /// Bytes/s of `threads` threads that each read a part once. The first call for a number of
    /// threads tries loops with ordinary loads and with several distances of reading ahead by software; later ones
    /// repeat the best of them. Short reads are repeated, so that small memory is read from the caches.
    double measure(int threads);

    std::size_t bytes() const { return words_.size() * sizeof(words_[0]); }

  private:
    std::vector<unsigned long long> words_;
    std::map<int, std::size_t> best_way_;  ///< by number of threads
};

}  // namespace heed::runner
