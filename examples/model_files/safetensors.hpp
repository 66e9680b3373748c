// SPDX-License-Identifier: MIT
//
// Reads tensors from a safetensors file: 8 bytes with the length of the header, the header (JSON: name -> dtype, shape,
// offsets), then the data. Nothing in the file is trusted: whatever points outside of it is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace model_files {

class safetensors_file {
  public:
    /// Reads and checks the header. Throws input_error if the file is missing, cut off or inconsistent.
    explicit safetensors_file(std::filesystem::path path);

    /// Copies the f32 tensor `name`, which must have exactly this shape, to `destination` (row-major).
    void read(const std::string &name, const std::vector<std::int64_t> &shape, float *destination);

    /// The shape of a tensor; throws input_error if the file has none of that name.
    const std::vector<std::int64_t> &shape(const std::string &name) const { return find(name).shape; }

  private:
    struct tensor {
        std::string dtype;
        std::vector<std::int64_t> shape;
        std::uint64_t begin, end;  // bytes, counted from the start of the file
    };

    const tensor &find(const std::string &name) const;

    std::filesystem::path path_;
    std::ifstream file_;
    std::map<std::string, tensor> tensors_;
};

}  // namespace model_files
