// SPDX-License-Identifier: MIT
//
// What a command works on: the variants named on the command line, and their kernels that this machine can run.
#pragma once

#include <heed/kernel_table.hpp>

#include <functional>
#include <string>
#include <vector>

namespace heed::runner {

/// The variants of these names in the library's order, all if there are none. Throws std::invalid_argument that names
/// an unknown one and lists those there are.
std::vector<const variant_description *> select_variants(const kernel_library &library,
                                                         const std::vector<std::string> &names);

/// The kernels of these instruction sets that run on this machine, in the table's order; all sets if there are none
/// named. `pass`: of this pass only, none if the variant lacks it; null: of all. Throws std::invalid_argument if there
/// is no kernel for a set, or this machine cannot run it.
std::vector<const kernel_description *> select_kernels(const variant_description &variant,
                                                       const std::vector<std::string> &isas,
                                                       const char *pass = nullptr);

/// Of these, for each pass, instruction set and types, the one that a call with so many queries would choose: of
/// `schedule`, if that is not empty.
std::vector<const kernel_description *> suited_kernels(const std::vector<const kernel_description *> &kernels,
                                                       std::int64_t q_len, const std::string &schedule);

/// Prints a line for each reason why devices of kernels are not here, with the number of these kernels. `counts`: of
/// these kernels only; empty: of all.
void print_skipped(const std::vector<const variant_description *> &variants,
                   const std::function<bool(const variant_description &, const kernel_description &)> &counts = {});

}  // namespace heed::runner
