// SPDX-License-Identifier: MIT
//
// Whether tensors fit this machine, asked before they are made: Linux hands out memory that it does not have, and ends
// the process once it is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed::runner {

/// A tensor of 4-byte elements that is about to be made.
struct planned_tensor {
    std::string name;
    std::vector<std::int64_t> extents;
};

/// Throws std::runtime_error that names the largest of the tensors if all together need more memory than is available.
/// The message begins with `what`.
void check_memory(const std::string &what, const std::vector<planned_tensor> &tensors);

}  // namespace heed::runner
