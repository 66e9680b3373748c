// SPDX-License-Identifier: MIT
//
// `bench`: how fast kernels are, as a share of what this machine can do and beside PyTorch, all measured in the same
// run.
#pragma once

#include <heed/kernel_table.hpp>
#include <heed/yardsticks.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "problem.hpp"

namespace heed::runner {

struct bench_options {
    std::vector<std::string> names;
    std::string schedule;           ///< empty: as a call would choose; "all"
    std::string pass;               ///< "forward" or "cached"; empty: forward if the library has it
    std::int64_t page_size = 64;    ///< of caches
    std::string dtype;              ///< as the table shows it; empty: all
    std::vector<std::string> isas;  ///< empty: the best of this machine; "all": each
    std::vector<std::int64_t> lengths, q_lens, kv_lens;
    std::vector<std::int64_t> batches{1};
    std::vector<int> threads;  ///< empty: 1 and the number of cores
    int rounds = 7;
    double seconds_per_round = 0.02;
    score_kind scores = score_kind::ordinary;
    arrangement how = arrangement::row_major;
    input_settings settings;
    std::string json_file, csv_file;
    bool memory = false;
    bool against_torch = false;
    std::string python = "python3";
    device_yardstick_list yardsticks;
};

/// Times every kernel asked for in interleaved rounds and prints a table. Returns the exit status.
int bench(const kernel_library &library, const bench_options &options);

/// Time of a call with one query and one key: what a call costs before any work.
int bench_overhead(const kernel_library &library, const bench_options &options);

}  // namespace heed::runner
