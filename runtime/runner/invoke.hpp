// SPDX-License-Identifier: MIT
//
// The one place where the runner calls the runtime: a kernel chosen by its table entry, with tensors and inputs that
// are known only when the program runs.
#pragma once

#include <heed/kernel_table.hpp>

#include <memory>

#include "problem.hpp"

namespace heed::runner {

/// Whether this machine can run the kernel.
bool runs_here(const kernel_description &kernel);

/// A call with all its arguments, to be made any number of times.
class prepared_call {
  public:
    /// `of` and `into` must outlive the calls. `log_sum_exp` says whether the kernel is asked for it.
    prepared_call(const problem &of, const results &into, const kernel_description &kernel, int threads,
                  bool log_sum_exp = true);
    ~prepared_call();
    prepared_call(prepared_call &&) noexcept;

    /// Throws the runtime's errors.
    void operator()() const;

  private:
    struct arguments;
    std::unique_ptr<arguments> arguments_;
};

}  // namespace heed::runner
