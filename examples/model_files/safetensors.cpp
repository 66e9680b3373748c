// SPDX-License-Identifier: MIT
#include "safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "input_error.hpp"

namespace model_files {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

/// The format's own limit; keeps a damaged length from asking for all memory.
constexpr std::uint64_t largest_header = 100'000'000;

/// Bytes per element of the types of the format; nothing for a type that it does not have.
std::optional<std::uint64_t> element_size(const std::string &dtype) {
    static const std::map<std::string, std::uint64_t> sizes = {
        {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"U16", 2}, {"I16", 2}, {"F16", 2},
        {"BF16", 2}, {"U32", 4}, {"I32", 4}, {"F32", 4},     {"U64", 8},     {"I64", 8}, {"F64", 8},
    };
    const auto found = sizes.find(dtype);
    return found == sizes.end() ? std::nullopt : std::optional(found->second);
}

/// Bytes of a tensor; nothing if an extent is negative or the product does not fit.
std::optional<std::uint64_t> byte_count(const std::vector<std::int64_t> &shape, std::uint64_t element) {
    std::uint64_t bytes = element;
    for (const std::int64_t extent : shape) {
        if (extent < 0) return std::nullopt;
        const auto factor = static_cast<std::uint64_t>(extent);
        if (factor != 0 && bytes > std::numeric_limits<std::uint64_t>::max() / factor) return std::nullopt;
        bytes *= factor;
    }
    return bytes;
}

}  // namespace

safetensors_file::safetensors_file(std::filesystem::path path) : path_(std::move(path)) {
    const auto refuse = [&](const std::string &why) { throw input_error(fmt::format("{}: {}", path_.string(), why)); };

    file_.open(path_, std::ios::binary);
    if (!file_) refuse(fmt::format("cannot be opened: {}", std::strerror(errno)));
    std::error_code no_size;
    const std::uint64_t file_size = std::filesystem::file_size(path_, no_size);
    if (no_size) refuse(fmt::format("not a regular file: {}", no_size.message()));

    std::uint64_t header_size = 0;
    if (file_size < sizeof header_size) refuse(fmt::format("{} bytes are too few for a safetensors file", file_size));
    file_.read(reinterpret_cast<char *>(&header_size), sizeof header_size);
    const std::uint64_t available = file_size - sizeof header_size;
    if (header_size > available || header_size > largest_header) {
        refuse(fmt::format("not a safetensors file, or cut off: its header would have {} bytes, the file has {}",
                           header_size, file_size));
    }
    std::string text(header_size, '\0');
    file_.read(text.data(), static_cast<std::streamsize>(header_size));
    if (!file_) refuse("reading the header failed");

    const std::uint64_t data_start = sizeof header_size + header_size;
    const std::uint64_t data_size = file_size - data_start;
    try {
        for (const auto &[name, entry] : nlohmann::json::parse(text).get<std::map<std::string, nlohmann::json>>()) {
            if (name == "__metadata__") continue;
            tensor parsed{entry.at("dtype"), entry.at("shape"), 0, 0};
            const auto offsets = entry.at("data_offsets").get<std::vector<std::int64_t>>();
            if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
                refuse(fmt::format("tensor '{}': data_offsets [{}] are not a range", name, fmt::join(offsets, ", ")));
            }
            parsed.begin = static_cast<std::uint64_t>(offsets[0]);
            parsed.end = static_cast<std::uint64_t>(offsets[1]);
            if (parsed.end > data_size) {
                refuse(fmt::format("tensor '{}' ends at byte {} of the data, the file holds {}: cut off?", name,
                                   parsed.end, data_size));
            }
            const std::optional<std::uint64_t> element = element_size(parsed.dtype);
            if (!element) refuse(fmt::format("tensor '{}' has the unknown type '{}'", name, parsed.dtype));
            const std::optional<std::uint64_t> bytes = byte_count(parsed.shape, *element);
            if (!bytes || *bytes != parsed.end - parsed.begin) {
                refuse(fmt::format("tensor '{}': {} bytes do not hold {} elements of shape [{}]", name,
                                   parsed.end - parsed.begin, parsed.dtype, fmt::join(parsed.shape, ", ")));
            }
            parsed.begin += data_start;
            parsed.end += data_start;
            tensors_.emplace(name, std::move(parsed));
        }
    } catch (const nlohmann::json::exception &problem) {
        refuse(fmt::format("broken safetensors header: {}", problem.what()));
    }
}

const safetensors_file::tensor &safetensors_file::find(const std::string &name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) {
        throw input_error(fmt::format("{}: no tensor '{}' among its {}", path_.string(), name, tensors_.size()));
    }
    return found->second;
}

void safetensors_file::read(const std::string &name, const std::vector<std::int64_t> &shape, float *destination) {
    const tensor &found = find(name);
    if (found.dtype != "F32") {
        throw input_error(
            fmt::format("{}: tensor '{}' is of type {}, F32 is needed", path_.string(), name, found.dtype));
    }
    if (found.shape != shape) {
        throw input_error(fmt::format("{}: tensor '{}' has shape [{}], [{}] is needed", path_.string(), name,
                                      fmt::join(found.shape, ", "), fmt::join(shape, ", ")));
    }
    file_.seekg(static_cast<std::streamoff>(found.begin));
    file_.read(reinterpret_cast<char *>(destination), static_cast<std::streamsize>(found.end - found.begin));
    if (!file_) throw input_error(fmt::format("{}: reading tensor '{}' failed", path_.string(), name));
}

}  // namespace model_files
