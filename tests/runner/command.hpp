// SPDX-License-Identifier: MIT
//
// Runs the runner's command line in a process of its own and keeps what it prints.
#pragma once

#include <heed/kernel_table.hpp>

#include <string>
#include <vector>

struct command_result {
    int status;  ///< exit status; -1 if a signal ended the process
    std::string out, err;
};

/// `arguments` without the program's name.
command_result run_command(const heed::kernel_library &library, const std::vector<std::string> &arguments);

/// A name in the folder for temporary files that no other test uses; the file is removed at the end.
struct temporary_file {
    explicit temporary_file(const std::string &ending);
    ~temporary_file();
    temporary_file(const temporary_file &) = delete;
    temporary_file &operator=(const temporary_file &) = delete;

    std::string name;
};
