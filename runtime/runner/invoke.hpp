// SPDX-License-Identifier: MIT
//
// The one place where the runner calls the runtime: a kernel chosen by its table entry, with tensors and inputs that
// are known only when the program runs.
#pragma once

#include <heed/kernel_table.hpp>

#include <memory>
#include <string>

#include "problem.hpp"

namespace heed::runner {

/// Whether calls of the variant can be asked for log_sum_exp.
bool has_log_sum_exp(const variant_description &variant);

/// Whether this machine can run the kernel.
bool runs_here(const kernel_description &kernel);

/// Why it cannot; empty if it can.
std::string why_not_here(const kernel_description &kernel);

/// A call with all its arguments, to be made any number of times.
class prepared_call {
  public:
    /// A kernel that reads a cache gets one with the keys and values of the problem, as its append stores them.
    /// `of` and `into`, made for what the kernel computes, must outlive the calls. Tensors of the kernel's other types
    /// than f32 are copies with the same layout. `log_sum_exp` says whether the kernel is asked for it, where the
    /// variant has it.
    /// `on_device`: the tensors lie in memory of the kernel's device, as copies, log_sum_exp always among them.
    prepared_call(const problem &of, const results &into, const kernel_description &kernel, int threads,
                  bool log_sum_exp = true, bool on_device = false);
    ~prepared_call();
    prepared_call(prepared_call &&) noexcept;

    /// Throws the runtime's errors. Results of other types than f32, and those of calls on a cache or a device, stay in
    /// memory of the call's own.
    void operator()() const;

    /// Brings such results to where the call was told to put them.
    void fetch_results() const;

    struct arguments;

  private:
    std::unique_ptr<arguments> arguments_;
};

}  // namespace heed::runner
