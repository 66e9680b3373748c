// SPDX-License-Identifier: MIT
//
// The runner: one command line for exactly the kernels of one library. `heed_add_runner` generates a main() that is
// this one call; a program of your own can offer the same commands by calling it too.
#pragma once

#include <heed/kernel_table.hpp>
#include <heed/yardsticks.hpp>

namespace heed {

/// Runs `list`, `devices`, `explain`, `verify` or `bench` as the arguments ask. Returns the exit status: 0 when all
/// went well, 1 when a check failed or a call was refused, CLI11's codes (above 100) for wrong arguments. Does not
/// throw. What devices can do is measured where there are `yardsticks`, all_device_yardsticks of heed::yardsticks.
int run_command_line(const kernel_library &library, int argc, char **argv,
                     const device_yardstick_list &yardsticks = {});

}  // namespace heed
