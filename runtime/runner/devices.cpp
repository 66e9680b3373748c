// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <heed/device.hpp>

#include "commands.hpp"

namespace heed::runner {

int list_devices(const std::string &kind) {
    bool all_there = true;
    for (const device &each : devices()) {
        if (!kind.empty() && kind != name_of(each.kind)) continue;
        all_there = all_there && each.available;
        if (!each.available) {
            fmt::print("{}: {}\n", name_of(each.kind), each.reason);
            continue;
        }
        fmt::print("{}: {}{}, version {}.{}, {:.1f} GiB\n", name_of(each.kind), each.name,
                   each.is_cpu ? " (computes on the CPU)" : "", each.version / 10, each.version % 10,
                   static_cast<double>(each.memory_bytes) / 0x1p30);
    }
    return kind.empty() || all_there ? 0 : no_such_device_status;
}

}  // namespace heed::runner
