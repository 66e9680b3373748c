// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <stdexcept>

#include "tile_map.hpp"

namespace heed::runner {

namespace {

struct colour {
    png_byte red, green, blue;
};

colour colour_of(tile_class kind) {
    switch (kind) {
        case tile_class::empty:
            return {236, 236, 236};
        case tile_class::mixed:
            return {240, 170, 60};
        case tile_class::full:
            return {40, 90, 160};
    }
    return {0, 0, 0};
}

}  // namespace

void write_tile_picture(const tile_map &map, const std::string &path) {
    constexpr std::int64_t wanted_width = 512;
    const std::int64_t tile = std::clamp<std::int64_t>(wanted_width / std::max(map.width, map.height), 1, 32);
    // Lines between tiles where there is room for them.
    const std::int64_t gap = tile >= 6 ? 1 : 0;
    const std::int64_t width = map.width * tile + gap, height = map.height * tile + gap;
    std::vector<png_byte> pixels(static_cast<std::size_t>(width * height * 3), 255);
    for (std::int64_t y = 0; y < height; ++y)
        for (std::int64_t x = 0; x < width; ++x) {
            if (gap > 0 && (x % tile == 0 || y % tile == 0)) continue;
            const colour c = colour_of(map.at(y / tile, x / tile));
            png_byte *pixel = pixels.data() + (y * width + x) * 3;
            pixel[0] = c.red;
            pixel[1] = c.green;
            pixel[2] = c.blue;
        }
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.format = PNG_FORMAT_RGB;
    image.width = static_cast<png_uint_32>(width);
    image.height = static_cast<png_uint_32>(height);
    if (png_image_write_to_file(&image, path.c_str(), 0, pixels.data(), 0, nullptr) == 0)
        throw std::runtime_error(fmt::format("explain: cannot write '{}': {}", path, image.message));
}

}  // namespace heed::runner
