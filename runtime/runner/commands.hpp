// SPDX-License-Identifier: MIT
//
// The commands that are small enough to need no header of their own.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <string>

#include "inputs.hpp"

namespace heed::runner {

/// `list`: every variant with formula, arguments and kernels.
int list(const kernel_library &library, bool json);

struct explain_options {
    std::string name;
    std::int64_t batch = 1, q_len = 512, kv_len = 512;
    std::int64_t head = 0;  ///< head and batch entry that the map shows
    std::int64_t batch_entry = 0;
    std::string isa;  ///< kernel whose tiles are shown; empty: the first of the table
    std::string png;
    int width = 64;  ///< largest number of characters of the map
    input_settings settings;
};

/// `explain`: what a variant computes, and which tiles of a call run.
int explain(const kernel_library &library, const explain_options &options);

}  // namespace heed::runner
