// SPDX-License-Identifier: MIT
#include "canvas.hpp"

#include <fmt/format.h>
#include <ft2build.h>
#include <png.h>

#include <algorithm>
#include <stdexcept>
#include FT_FREETYPE_H

namespace heed::inspect {

namespace {

constexpr char32_t replacement = 0xfffd;

// The next character of UTF-8 text; `position` moves past it. Bytes that are none, overlong and surrogate forms give
// U+FFFD one by one.
char32_t next_character(const std::string &text, std::size_t &position) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(i < text.size() ? text[i] : 0); };
    const unsigned char first = byte(position);
    const int more = first < 0x80             ? 0
                     : (first & 0xe0) == 0xc0 ? 1
                     : (first & 0xf0) == 0xe0 ? 2
                     : (first & 0xf8) == 0xf0 ? 3
                                              : -1;
    constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (more < 0) {
        ++position;
        return replacement;
    }
    char32_t character = more == 0 ? first : first & (0x3fu >> more);
    for (int i = 1; i <= more; ++i) {
        const unsigned char next = byte(position + static_cast<std::size_t>(i));
        if ((next & 0xc0) != 0x80) {
            ++position;
            return replacement;
        }
        character = character << 6 | (next & 0x3fu);
    }
    if (character < least[more] || character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) {
        ++position;
        return replacement;
    }
    position += static_cast<std::size_t>(more) + 1;
    // A label is one line.
    return character < 0x20 || character == 0x7f ? U' ' : character;
}

}  // namespace

struct font::typeface {
    FT_Library library = nullptr;
    FT_Face face = nullptr;

    ~typeface() {
        if (face != nullptr) FT_Done_Face(face);
        if (library != nullptr) FT_Done_FreeType(library);
    }

    // Calls `use(glyph, pen)` for each character with the pen's distance from the start, and returns the last one's
    // end.
    template <typename Use>
    std::int64_t lay_out(const std::string &text, FT_Int32 flags, const Use &use) const {
        std::int64_t pen = 0;
        for (std::size_t position = 0; position < text.size();) {
            if (FT_Load_Char(face, next_character(text, position), flags) != 0) continue;
            // Fonts made of black and white bitmaps, and coloured ones, are measured but not drawn.
            if (face->glyph->bitmap.pixel_mode == FT_PIXEL_MODE_GRAY) use(*face->glyph, pen);
            pen += face->glyph->advance.x >> 6;
        }
        return pen;
    }
};

font::font(const std::string &file, int pixels) : face_(std::make_unique<typeface>()) {
    const std::string name = file.empty() ? HEED_LABEL_FONT : file;
    const char *const remedy =
        "Fix: name a TrueType font, or install DejaVu (Debian: fonts-dejavu-core) and build again";
    if (name.empty()) throw std::runtime_error(fmt::format("heed::inspect: no font for labels. {}", remedy));
    if (FT_Init_FreeType(&face_->library) != 0) throw std::runtime_error("heed::inspect: FreeType does not start");
    if (FT_New_Face(face_->library, name.c_str(), 0, &face_->face) != 0 ||
        FT_Set_Pixel_Sizes(face_->face, 0, static_cast<FT_UInt>(pixels)) != 0)
        throw std::runtime_error(fmt::format("heed::inspect: cannot read the font '{}'. {}", name, remedy));
    const FT_Size_Metrics &metrics = face_->face->size->metrics;
    ascent_ = static_cast<int>(metrics.ascender >> 6);
    height_ = static_cast<int>(metrics.height >> 6);
}

font::~font() = default;

int font::width_of(const std::string &text) const {
    return static_cast<int>(face_->lay_out(text, FT_LOAD_DEFAULT, [](const FT_GlyphSlotRec &, std::int64_t) {}));
}

std::string font::shortened(const std::string &text, int width) const {
    if (width_of(text) <= width) return text;
    const std::string ellipsis = "\u2026";
    std::size_t fits = 0;
    for (std::size_t position = 0; position < text.size();) {
        next_character(text, position);
        if (width_of(text.substr(0, position) + ellipsis) > width) break;
        fits = position;
    }
    return text.substr(0, fits) + ellipsis;
}

canvas::canvas(std::int64_t width, std::int64_t height)
    : width_(width), height_(height), pixels_(static_cast<std::size_t>(width * height * 3), 255) {}

void canvas::fill(std::int64_t x, std::int64_t y, std::int64_t width, std::int64_t height, colour with) {
    for (std::int64_t row = std::max<std::int64_t>(y, 0); row < std::min(y + height, height_); ++row)
        for (std::int64_t column = std::max<std::int64_t>(x, 0); column < std::min(x + width, width_); ++column) {
            std::uint8_t *pixel = pixels_.data() + (row * width_ + column) * 3;
            pixel[0] = with.red;
            pixel[1] = with.green;
            pixel[2] = with.blue;
        }
}

void canvas::blend(std::int64_t x, std::int64_t y, std::uint8_t ink) {
    if (x < 0 || y < 0 || x >= width_ || y >= height_) return;
    std::uint8_t *pixel = pixels_.data() + (y * width_ + x) * 3;
    for (int i = 0; i < 3; ++i) pixel[i] = static_cast<std::uint8_t>(pixel[i] * (255 - ink) / 255);
}

void canvas::write(const font &with, std::int64_t x, std::int64_t y, const std::string &text) {
    with.face_->lay_out(text, FT_LOAD_RENDER, [&](const FT_GlyphSlotRec &glyph, std::int64_t pen) {
        for (unsigned row = 0; row < glyph.bitmap.rows; ++row)
            for (unsigned column = 0; column < glyph.bitmap.width; ++column)
                blend(x + pen + glyph.bitmap_left + column, y + with.ascent() - glyph.bitmap_top + row,
                      glyph.bitmap.buffer[static_cast<int>(row) * glyph.bitmap.pitch + static_cast<int>(column)]);
    });
}

void canvas::write_upwards(const font &with, std::int64_t x, std::int64_t y, const std::string &text) {
    with.face_->lay_out(text, FT_LOAD_RENDER, [&](const FT_GlyphSlotRec &glyph, std::int64_t pen) {
        for (unsigned row = 0; row < glyph.bitmap.rows; ++row)
            for (unsigned column = 0; column < glyph.bitmap.width; ++column)
                blend(x + with.ascent() - glyph.bitmap_top + row, y - pen - glyph.bitmap_left - column - 1,
                      glyph.bitmap.buffer[static_cast<int>(row) * glyph.bitmap.pitch + static_cast<int>(column)]);
    });
}

void canvas::save(const std::string &path) const {
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.format = PNG_FORMAT_RGB;
    image.width = static_cast<png_uint_32>(width_);
    image.height = static_cast<png_uint_32>(height_);
    if (png_image_write_to_file(&image, path.c_str(), 0, pixels_.data(), 0, nullptr) == 0)
        throw std::runtime_error(fmt::format("heed::inspect: cannot write '{}': {}", path, image.message));
}

}  // namespace heed::inspect
