// SPDX-License-Identifier: MIT
#include "memory_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <optional>
#include <stdexcept>

namespace heed::runner {

namespace {

// In floating point: a product of four large extents has more than 64 bits.
double bytes_of(const planned_tensor &tensor) {
    double bytes = 4.0;
    for (const std::int64_t extent : tensor.extents) bytes *= static_cast<double>(extent);
    return bytes;
}

std::optional<double> available_bytes() {
    std::ifstream lines("/proc/meminfo");
    double bytes = 0.0;
    bool known = false;
    for (std::string line; std::getline(lines, line);) {
        const bool available = line.rfind("MemAvailable:", 0) == 0;
        if (!available && line.rfind("SwapFree:", 0) != 0) continue;
        bytes += std::stod(line.substr(line.find(':') + 1)) * 1024.0;
        known = known || available;
    }
    if (!known) return std::nullopt;
    return bytes;
}

}  // namespace

void check_memory(const std::string &what, const std::vector<planned_tensor> &tensors) {
    constexpr double never_too_much = 0x1p26;
    double total = 0.0;
    const planned_tensor *largest = nullptr;
    for (const planned_tensor &tensor : tensors) {
        total += bytes_of(tensor);
        if (largest == nullptr || bytes_of(tensor) > bytes_of(*largest)) largest = &tensor;
    }
    if (total <= never_too_much) return;
    const std::optional<double> available = available_bytes();
    if (!available || total <= *available) return;
    throw std::runtime_error(
        fmt::format("{}: the tensors need {:.1f} GiB of memory, {:.1f} GiB of it {} ({}); {:.1f} GiB are available. "
                    "Fix: smaller lengths (--seq, --q, --kv) or a smaller --batch",
                    what, total / 0x1p30, bytes_of(*largest) / 0x1p30, largest->name, fmt::join(largest->extents, ", "),
                    *available / 0x1p30));
}

}  // namespace heed::runner
