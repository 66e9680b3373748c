// SPDX-License-Identifier: MIT
//
// What `bench` reports of one kernel on one problem: the fields of its JSON and CSV files, the columns of its table.
#pragma once

#include <heed/kernel_table.hpp>

#include <optional>
#include <string>
#include <vector>

namespace heed::runner {

struct bench_record {
    const variant_description *variant;
    const kernel_description *kernel;
    call_sizes sizes;
    int threads;        ///< 0 on a device
    std::size_t calls;  ///< timed calls
    std::int64_t visible_pairs;
    double flops;      ///< of the visible pairs
    double bytes;      ///< of keys and values, each read once
    double all_bytes;  ///< of queries and output, too
    double min_s, median_s;
    double fma_peak, read_peak;                         ///< per second, the best of the run
    std::optional<double> torch_min_s, torch_median_s;  ///< scaled_dot_product_attention
    std::optional<double> flex_min_s, flex_median_s;    ///< FlexAttention
    std::optional<int> flex_block;                      ///< edge of the blocks of its mask; 0: without a mask
    std::optional<std::int64_t> extra_bytes;

    double gflops() const { return flops / min_s * 1e-9; }
    double gbps() const { return all_bytes / min_s * 1e-9; }
    double fraction_of_memory_bandwidth() const { return read_peak > 0.0 ? all_bytes / min_s / read_peak : 0.0; }
    double read_gbps() const { return bytes / min_s * 1e-9; }
    double fraction_of_fma_peak() const { return fma_peak > 0.0 ? flops / min_s / fma_peak : 0.0; }
    double fraction_of_read_peak() const { return read_peak > 0.0 ? bytes / min_s / read_peak : 0.0; }
};

/// Bytes of the last-level cache of this machine; 0 if it does not say.
std::int64_t last_level_cache_bytes();

std::string bench_table(const std::vector<bench_record> &records);
std::string bench_json(const std::vector<bench_record> &records);
std::string bench_csv(const std::vector<bench_record> &records);

}  // namespace heed::runner
