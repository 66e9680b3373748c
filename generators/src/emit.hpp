// SPDX-License-Identifier: MIT
//
// What the build writes for a kernel library: kernels, the table that lists them, the header that calls them.
#pragma once

#include <heed/run_generator.hpp>

#include <string>
#include <vector>

namespace heed::generators {

/// One kernel to be: an entry of the list that emission and table share.
struct kernel_plan {
    std::string name;    ///< <variant>_<pass>_<schedule>_<dtype>_<isa>
    std::string symbol;  ///< heed_<library>_<name>
    std::string isa;
    Halide::Target target;
};

/// The plan for one Halide target string. Throws std::invalid_argument if no schedule serves it.
kernel_plan plan_kernel(const generator_library &library, const variant_source &variant, const std::string &target);

/// Writes <directory>/<name>.o and, as asked, .stmt and .s beside it.
void emit_kernel(const variant_source &variant, const kernel_plan &plan, const std::string &directory,
                 const std::vector<std::string> &also);

std::string header_text(const generator_library &library);
std::string table_text(const generator_library &library, const std::vector<std::string> &targets);

}  // namespace heed::generators
