// SPDX-License-Identifier: MIT
#include "crash_report.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace heed::runner {

namespace {

char latest[1024];
struct sigaction before_segv, before_bus;

// Only async-signal-safe calls from here.
void say(const char *text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(1);
}

void report(int) {
    say("\nFAILED: a kernel read or wrote outside of its tensors in the call\n  ");
    say(latest);
    say("\n");
    _exit(1);
}

}  // namespace

crash_report::crash_report() {
    struct sigaction action {};
    action.sa_handler = report;
    sigaction(SIGSEGV, &action, &before_segv);
    sigaction(SIGBUS, &action, &before_bus);
}

crash_report::~crash_report() {
    sigaction(SIGSEGV, &before_segv, nullptr);
    sigaction(SIGBUS, &before_bus, nullptr);
}

void crash_report::note(const std::string &what) {
    const std::size_t length = std::min(what.size(), sizeof(latest) - 1);
    std::memcpy(latest, what.data(), length);
    latest[length] = 0;
}

}  // namespace heed::runner
