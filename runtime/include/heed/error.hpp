// SPDX-License-Identifier: MIT
//
// Errors of a call: one family of exceptions, and the same information as a plain value for code without exceptions.
// A message says what is wrong, with both values, why, and how to put it right.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace heed {

/// Base of everything that Heed throws.
class error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An argument of the call does not fit the kernel. Nothing was written.
class invalid_argument_error : public error {
  public:
    using error::error;
};

/// The library holds no kernel that may run: see heed/isa.hpp. Nothing was written.
class unsupported_error : public error {
  public:
    using error::error;
};

/// The kernel itself reported an error. The output may be partly written.
class kernel_error : public error {
  public:
    using error::error;
};

/// No memory for the scratch space of a call, whose output may then be partly written, or for a cache.
class out_of_memory_error : public error {
  public:
    using error::error;
};

/// The cache has too few free pages for the tokens that a sequence was to get: see heed/key_value_cache.hpp. Nothing
/// has changed.
class cache_full_error : public error {
  public:
    using error::error;
};

enum class status_code { ok, invalid_argument, unsupported, kernel_failed, out_of_memory, cache_full };

/// What became of a call that does not throw.
class [[nodiscard]] status {
  public:
    status() noexcept = default;
    status(status_code code, std::string message) noexcept : code_(code), message_(std::move(message)) {}

    bool ok() const noexcept { return code_ == status_code::ok; }
    explicit operator bool() const noexcept { return ok(); }
    status_code code() const noexcept { return code_; }
    /// Empty if the call succeeded.
    const std::string &message() const noexcept { return message_; }

  private:
    status_code code_ = status_code::ok;
    std::string message_;
};

}  // namespace heed
