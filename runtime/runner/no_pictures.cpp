// SPDX-License-Identifier: MIT
//
// Stands in for the commands that draw where the build found no libraries to draw with.
#include <stdexcept>
#include <string>

#include "commands.hpp"
#include "tile_map.hpp"

namespace heed::runner {

namespace {

[[noreturn]] void refuse(const std::string &what) {
    throw std::invalid_argument(what +
                                ": this runner draws no pictures: libpng or FreeType was not found for the processor "
                                "that it was cross-compiled for. Fix: install both for that processor and configure "
                                "again, or run the command on the machine that builds");
}

}  // namespace

void write_tile_picture(const tile_map &, const std::string &) { refuse("explain --png"); }

int inspect_weights(const kernel_library &, const inspect_options &) { refuse("inspect"); }

}  // namespace heed::runner
