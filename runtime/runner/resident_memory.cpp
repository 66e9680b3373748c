// SPDX-License-Identifier: MIT
#include "resident_memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace heed::runner {

namespace {

// A line such as "VmHWM:     1234 kB".
std::optional<std::int64_t> status_bytes(const std::string &key) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.compare(0, key.size(), key) == 0) return std::stoll(line.substr(key.size())) * 1024;
    return std::nullopt;
}

}  // namespace

resident_growth::resident_growth() {
    std::ofstream reset("/proc/self/clear_refs");
    reset << "5" << std::flush;  // sets the peak to what is resident now
    if (reset) before_ = status_bytes("VmHWM:");
}

std::optional<std::int64_t> resident_growth::bytes() const {
    const auto now = status_bytes("VmHWM:");
    if (!before_ || !now) return std::nullopt;
    return std::max<std::int64_t>(*now - *before_, 0);
}

}  // namespace heed::runner
