// SPDX-License-Identifier: MIT
#include "pictures.hpp"

#include <doctest/doctest.h>
#include <png.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "canvas.hpp"
#include "matrices.hpp"

using namespace heed::inspect;

namespace {

struct temporary_picture {
    std::string name =
        (std::filesystem::temp_directory_path() / ("heed-inspect-test-" + std::to_string(getpid()) + ".png")).string();
    ~temporary_picture() { std::filesystem::remove(name); }
};

struct picture {
    std::int64_t width = 0, height = 0;
    std::vector<png_byte> pixels;

    explicit picture(const std::string &path) {
        png_image image{};
        image.version = PNG_IMAGE_VERSION;
        REQUIRE(png_image_begin_read_from_file(&image, path.c_str()) != 0);
        image.format = PNG_FORMAT_RGB;
        width = image.width;
        height = image.height;
        pixels.resize(PNG_IMAGE_SIZE(image));
        REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) != 0);
    }

    std::array<int, 3> at(std::int64_t x, std::int64_t y) const {
        const png_byte *pixel = pixels.data() + (y * width + x) * 3;
        return {pixel[0], pixel[1], pixel[2]};
    }
    std::int64_t dark_pixels(std::int64_t left, std::int64_t top, std::int64_t right, std::int64_t bottom) const {
        std::int64_t count = 0;
        for (std::int64_t y = top; y < bottom; ++y)
            for (std::int64_t x = left; x < right; ++x) count += at(x, y)[0] < 100 ? 1 : 0;
        return count;
    }
};

picture heat_map(const attention &of, std::int64_t head = 0, const picture_options &how = {}) {
    const temporary_picture file;
    write_heat_map(file.name, of, head, how);
    return picture(file.name);
}

std::array<int, 3> cell_of(const picture &shown, const picture_layout &layout, std::int64_t row, std::int64_t column) {
    const std::int64_t cell = layout.grid.cell;
    return shown.at(layout.left + column * cell + cell / 2, layout.top + row * cell + cell / 2);
}

const std::array<int, 3> grey = {225, 225, 225}, darkest = {8, 48, 107}, lightest = {247, 251, 255};

}  // namespace

TEST_CASE("a heat map has a square for each pair, dark where the weight is, grey where nothing is visible") {
    matrices causal(1, 2, 3, {1, 0, 0, 0, 1, 0});
    causal.of.query_start = {0};
    causal.of.visible = [](auto, auto, std::int64_t row, std::int64_t key) { return key <= row; };
    const picture_layout layout = heat_map_layout(causal.of, 0, {});
    const picture shown = heat_map(causal.of);
    CHECK(shown.width == layout.width);
    CHECK(shown.height == layout.height);
    CHECK(layout.grid.cell == 24);
    CHECK(cell_of(shown, layout, 0, 0) == darkest);
    CHECK(cell_of(shown, layout, 0, 1) == grey);
    CHECK(cell_of(shown, layout, 1, 0) == lightest);
    CHECK(cell_of(shown, layout, 1, 1) == darkest);
    CHECK(cell_of(shown, layout, 1, 2) == grey);
}

TEST_CASE("a map grows by one square for each row and each column") {
    const matrices small(1, 30, 30, uniform(1, 30, 30)), large(1, 31, 32, uniform(1, 31, 32));
    CHECK(heat_map(large.of).width == heat_map(small.of).width + 2 * 24);
    CHECK(heat_map(large.of).height == heat_map(small.of).height + 24);
    // A margin, and nothing else to the right of it.
    const picture_layout layout = heat_map_layout(large.of, 0, {});
    CHECK(layout.width == layout.left + 32 * 24 + 10);
}

TEST_CASE("labels stand on both axes, in UTF-8") {
    matrices two(1, 2, 2, uniform(1, 2, 2));
    two.of.query_labels = two.of.key_labels = {" ", " "};
    const picture_layout blank = heat_map_layout(two.of, 0, {});
    const picture without = heat_map(two.of);
    CHECK(without.dark_pixels(0, blank.top, blank.left, blank.height - 40) == 0);

    two.of.query_labels = two.of.key_labels = {"##ing", "caf\u00e9"};
    const picture_layout layout = heat_map_layout(two.of, 0, {});
    const picture shown = heat_map(two.of);
    CHECK(shown.dark_pixels(0, layout.top, layout.left, layout.top + 24) > 20);
    CHECK(shown.dark_pixels(0, layout.top + 24, layout.left, layout.top + 48) > 20);
    CHECK(shown.dark_pixels(layout.left, 30, layout.left + 24, layout.top) > 20);
    CHECK(shown.dark_pixels(layout.left + 24, 30, layout.left + 48, layout.top) > 20);

    // One character of two bytes is not wider than one of one byte.
    two.of.query_labels = {"\u00e9\u00e9\u00e9\u00e9", "e"};
    const std::int64_t accents = heat_map_layout(two.of, 0, {}).left;
    two.of.query_labels = {"eeee", "e"};
    CHECK(accents == heat_map_layout(two.of, 0, {}).left);
    // Bytes that are no UTF-8 are drawn as something.
    two.of.query_labels = {"\xff\xc3", "\xe2\x82"};
    CHECK(heat_map(two.of).width > 0);
}

TEST_CASE("a long label is cut, the picture does not grow with it") {
    matrices one(1, 1, 1, {1});
    one.of.query_labels = {std::string(1000, 'x')};
    CHECK(heat_map_layout(one.of, 0, {}).left < 170);
    CHECK(heat_map(one.of).width < 700);

    const font letters("", 11);
    CHECK(letters.shortened("caf\u00e9", 140) == "caf\u00e9");
    const std::string cut = letters.shortened(std::string(30, 'x') + "\u00e9\u00e9\u00e9\u00e9", 140);
    CHECK(letters.width_of(cut) <= 140);
    CHECK(letters.width_of(cut) > 120);
    CHECK(cut.substr(cut.size() - 3) == "\u2026");
}

TEST_CASE("many keys share pixels, and the largest of their weights shows") {
    std::vector<float> numbers(5000, 0.0f);
    numbers[4321] = 1.0f;
    matrices row(1, 1, 5000, numbers);
    row.of.visible = [](auto, auto, auto, auto) { return true; };
    const picture_layout layout = heat_map_layout(row.of, 0, {});
    CHECK(layout.grid.pool == 3);
    CHECK(layout.grid.columns == 1667);
    const picture shown = heat_map(row.of);
    CHECK(shown.width == layout.width);
    CHECK(cell_of(shown, layout, 0, 4321 / 3) == darkest);
    CHECK(cell_of(shown, layout, 0, 4321 / 3 + 1) == lightest);
}

TEST_CASE("weights above 1 and below 0 have colours of their own") {
    const matrices free(1, 1, 2, {2.0f, -2.0f});
    const picture_layout layout = heat_map_layout(free.of, 0, {});
    const picture shown = heat_map(free.of);
    CHECK(cell_of(shown, layout, 0, 0) == darkest);
    CHECK(cell_of(shown, layout, 0, 1) == std::array<int, 3>{127, 39, 4});
}

TEST_CASE("a contact sheet holds all heads of its layer") {
    // 4 heads in 3 columns and 2 rows; cells of 14 pixels.
    matrices layers(8, 20, 20, uniform(8, 20, 20));
    layers.of.heads_per_layer = 4;
    const temporary_picture file;
    write_contact_sheet(file.name, layers.of, 1);
    const picture sheet(file.name);
    CHECK(sheet.width > 3 * 20 * 14);
    CHECK(sheet.width < 4 * 20 * 14);
    CHECK(sheet.height > 2 * 20 * 14);
    CHECK(sheet.height < 3 * 20 * 14);
    CHECK_THROWS_WITH_AS(write_contact_sheet(file.name, layers.of, 2), "heed::inspect: layer 2 of 2",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(write_heat_map(file.name, layers.of, 8), "heed::inspect: head 8 of 8", std::invalid_argument);
}

TEST_CASE("a font and a file that do not work are named") {
    const matrices one(1, 1, 1, {1});
    picture_options how;
    how.font = "/no/such/font.ttf";
    const temporary_picture file;
    CHECK_THROWS_WITH_AS(write_heat_map(file.name, one.of, 0, how), doctest::Contains("/no/such/font.ttf"),
                         std::runtime_error);
    CHECK_THROWS_WITH_AS(write_heat_map("/no/such/folder/x.png", one.of, 0),
                         doctest::Contains("cannot write '/no/such/folder/x.png'"), std::runtime_error);
}
