// SPDX-License-Identifier: MIT
//
// A picture in the making: rectangles and text on RGB pixels, written as PNG.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace heed::inspect {

struct colour {
    std::uint8_t red, green, blue;
};

/// A typeface at one size. Text is UTF-8; characters that the font lacks are boxes, broken bytes are U+FFFD.
class font {
  public:
    /// `pixels`: height of a capital letter with room for accents. Throws std::runtime_error.
    font(const std::string &file, int pixels);
    ~font();
    font(const font &) = delete;
    font &operator=(const font &) = delete;

    int ascent() const { return ascent_; }  ///< pixels above the base line
    int height() const { return height_; }  ///< from one line to the next
    int width_of(const std::string &text) const;

    /// The text, or its beginning and an ellipsis, such that it is at most `width` wide.
    std::string shortened(const std::string &text, int width) const;

  private:
    friend class canvas;
    struct typeface;
    std::unique_ptr<typeface> face_;
    int ascent_ = 0, height_ = 0;
};

class canvas {
  public:
    canvas(std::int64_t width, std::int64_t height);

    std::int64_t width() const { return width_; }
    std::int64_t height() const { return height_; }

    /// Pixels outside of the canvas are left out.
    void fill(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height, colour with);

    /// From (x, y), the upper left corner of the line, to the right.
    void write(const font &with, std::int64_t x, std::int64_t y, const std::string &text);

    /// From (x, y), the lower left corner, upwards: read with the head tilted to the left.
    void write_upwards(const font &with, std::int64_t x, std::int64_t y, const std::string &text);

    /// Throws std::runtime_error.
    void save(const std::string &path) const;

  private:
    void blend(std::int64_t x, std::int64_t y, std::uint8_t ink);

    std::int64_t width_, height_;
    std::vector<std::uint8_t> pixels_;
};

}  // namespace heed::inspect
