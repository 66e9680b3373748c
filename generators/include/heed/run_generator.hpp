// SPDX-License-Identifier: MIT
//
// The command line of a generator, the program that heed_add_kernels builds for each header of variants.
#pragma once

#include <heed/variant_source.hpp>

#include <string>
#include <vector>

namespace heed::generators {

/// One kernel library, as heed_add_kernels was told.
struct generator_library {
    std::string name;             ///< of the CMake target, as a C++ identifier
    std::string variants_header;  ///< as an #include finds it
    std::string variants_namespace;
    std::vector<variant_source> variants;
};

/// Runs one command: `kernel`, `table` or `header`. Returns the exit status; messages go to standard error.
int run_generator(const generator_library &library, int argc, char **argv);

}  // namespace heed::generators
