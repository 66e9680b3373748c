// SPDX-License-Identifier: MIT
//
// Says which call was running when a kernel touched memory that is not its own.
#pragma once

#include <string>

namespace heed::runner {

/// While one lives, a memory fault prints the latest note and ends the program with status 1.
class crash_report {
  public:
    crash_report();
    ~crash_report();
    crash_report(const crash_report &) = delete;
    crash_report &operator=(const crash_report &) = delete;
    void note(const std::string &what);
};

}  // namespace heed::runner
