// SPDX-License-Identifier: MIT
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

/// A file with these bytes, as long as the object lives.
class temporary_file {
  public:
    explicit temporary_file(const std::string &bytes) {
        static int count = 0;
        path_ = std::filesystem::temp_directory_path() /
                ("model_files_test." + std::to_string(getpid()) + "." + std::to_string(count++));
        std::ofstream(path_, std::ios::binary) << bytes;
    }
    ~temporary_file() {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    temporary_file(const temporary_file &) = delete;
    temporary_file &operator=(const temporary_file &) = delete;

    const std::filesystem::path &path() const { return path_; }

  private:
    std::filesystem::path path_;
};
