// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

namespace model_files {

/// Adds the time between its construction and destruction to a sum.
class stopwatch {
  public:
    explicit stopwatch(double &seconds) : seconds_(seconds), start_(clock::now()) {}
    ~stopwatch() { seconds_ += std::chrono::duration<double>(clock::now() - start_).count(); }
    stopwatch(const stopwatch &) = delete;
    stopwatch &operator=(const stopwatch &) = delete;

  private:
    using clock = std::chrono::steady_clock;
    double &seconds_;
    clock::time_point start_;
};

}  // namespace model_files
