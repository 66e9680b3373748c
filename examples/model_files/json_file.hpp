// SPDX-License-Identifier: MIT
//
// A JSON file whose fields are read by pointer ("/model/vocab"), so that every mistake in it is reported with file and
// field.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "input_error.hpp"

namespace model_files {

class json_file {
  public:
    /// Throws input_error if the file cannot be read or is not JSON.
    explicit json_file(std::filesystem::path path);

    /// The field as a T; throws input_error if it is missing or of another type.
    template <class T>
    T get(const std::string &pointer) const {
        try {
            return document_.at(nlohmann::json::json_pointer(pointer)).get<T>();
        } catch (const nlohmann::json::exception &problem) {
            throw input_error(fmt::format("{}: field '{}': {}", path_.string(), pointer, problem.what()));
        }
    }

    /// As `get`, with a default for a field that is missing or null.
    template <class T>
    T get_or(const std::string &pointer, T fallback) const {
        const nlohmann::json::json_pointer field(pointer);
        return document_.contains(field) && !document_.at(field).is_null() ? get<T>(pointer) : fallback;
    }

    /// Throws input_error unless the field, or `fallback` where it is missing, has the one value that this program
    /// supports.
    template <class T>
    void require(const std::string &pointer, const T &fallback, const T &supported) const {
        const T found = get_or<T>(pointer, fallback);
        if (found != supported) {
            throw input_error(fmt::format("{}: field '{}' is {}, this program supports {} only", path_.string(),
                                          pointer, nlohmann::json(found).dump(), nlohmann::json(supported).dump()));
        }
    }

    const std::filesystem::path &path() const { return path_; }

  private:
    std::filesystem::path path_;
    nlohmann::json document_;
};

}  // namespace model_files
