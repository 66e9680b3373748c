// SPDX-License-Identifier: MIT
#include "json_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace model_files {

json_file::json_file(std::filesystem::path path) : path_(std::move(path)) {
    std::ifstream file(path_);
    if (!file) throw input_error(fmt::format("{}: cannot be opened: {}", path_.string(), std::strerror(errno)));
    try {
        document_ = nlohmann::json::parse(file);
    } catch (const nlohmann::json::exception &problem) {
        throw input_error(fmt::format("{}: not a JSON file: {}", path_.string(), problem.what()));
    }
}

}  // namespace model_files
