// SPDX-License-Identifier: MIT
//
// The commands that are small enough to need no header of their own.
#pragma once

#include <heed/kernel_table.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "inputs.hpp"
#include "problem.hpp"

namespace heed::runner {

/// `list`: every variant with formula, arguments and kernels.
int list(const kernel_library &library, bool json);

/// The exit status of `devices` where there is none of the kind that was asked for: of its own, so that scripts can
/// tell this from all that fails.
inline constexpr int no_such_device_status = 3;

/// `devices`: what there is of every kind but the CPU, or of one, `kind`.
int list_devices(const std::string &kind);

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

/// `explain`: what a variant computes, which tiles of a call run, and what bounds its kernels of GPUs.
int explain(const kernel_library &library, const explain_options &options);

struct inspect_options {
    std::string name;
    std::int64_t batch = 1;
    std::int64_t length = 0, q_len = 0, kv_len = 0;  ///< 0: not given
    std::string isa;                                 ///< empty: the best of this machine
    score_kind scores = score_kind::ordinary;
    input_settings settings;
    std::int64_t batch_entry = 0;     ///< that the pictures show
    std::vector<std::int64_t> heads;  ///< heat maps of these; empty: all
    std::string token_file;           ///< a label for each key, one per line
    std::string folder;               ///< empty: inspect-NAME
    std::string font;
    double alike = 0.9, collapsed = 0.9;
};

/// `inspect`: statistics and pictures of the attention matrix of a call with random tensors.
int inspect_weights(const kernel_library &library, const inspect_options &options);

}  // namespace heed::runner
