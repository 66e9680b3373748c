// SPDX-License-Identifier: MIT
//
// What tests do where there is no device: they are skipped and say so, but for the kinds of devices that the
// environment variable HEED_REQUIRE_DEVICES lists, as CTest sets it. There they fail.
#pragma once

#include <doctest/doctest.h>
#include <heed/device.hpp>

#include <cstdlib>
#include <sstream>
#include <string>

/// Of a list as "opencl,vulkan".
inline bool is_required(const std::string &kind) {
    const char *const required = std::getenv("HEED_REQUIRE_DEVICES");
    std::istringstream kinds(required != nullptr ? required : "");
    for (std::string one; std::getline(kinds, one, ',');) {
        if (one == kind) return true;
    }
    return false;
}

/// For a test that can do nothing without the device.
inline void skip_or_fail(const std::string &kind, const std::string &reason) {
    if (is_required(kind)) {
        FAIL_CHECK("no device of ", kind, ", which HEED_REQUIRE_DEVICES names: ", reason);
    } else {
        MESSAGE("[SKIP] no device of ", kind, ": ", reason);
    }
}

/// Whether there is a device of the kind; what it says where there is none, see above.
inline bool has_device(heed::device_kind kind = heed::device_kind::opencl) {
    const heed::device &found = heed::device_of(kind);
    if (!found.available) skip_or_fail(heed::name_of(kind), found.reason);
    return found.available;
}
