// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>

/// Sets one for the length of a scope.
class environment_variable {
  public:
    environment_variable(const char *name, const char *value) : name_(name) { setenv(name, value, 1); }
    ~environment_variable() { unsetenv(name_); }
    environment_variable(const environment_variable &) = delete;
    environment_variable &operator=(const environment_variable &) = delete;

  private:
    const char *name_;
};
