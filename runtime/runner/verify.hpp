// SPDX-License-Identifier: MIT
//
// `verify`: every kernel against the oracle, on shapes and memory that break kernels.
#pragma once

#include <heed/kernel_table.hpp>

#include <string>
#include <vector>

namespace heed::runner {

struct verify_options {
    std::vector<std::string> names;
    std::vector<std::string> isas;
    std::vector<int> threads{1, 2};
    bool quick = false;
    std::uint64_t seed = 1;
};

/// Prints a table, and each failure with the call that shows it. Returns the exit status.
int verify(const kernel_library &library, const verify_options &options);

}  // namespace heed::runner
