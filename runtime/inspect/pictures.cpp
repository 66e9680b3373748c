// SPDX-License-Identifier: MIT
#include "pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "canvas.hpp"
#include "rows.hpp"

namespace heed::inspect {

namespace {

constexpr int label_pixels = 11, title_pixels = 13;
constexpr std::int64_t margin = 10, gap = 5, longest_label = 140, most_cells = 2048;
constexpr std::int64_t scale_width = 160, scale_height = 10;

constexpr colour hidden{225, 225, 225}, not_a_number{200, 0, 200};
// ColorBrewer's Blues and Oranges: light to dark, also in print and for the colour-blind.
constexpr colour positive[] = {{247, 251, 255}, {107, 174, 214}, {8, 48, 107}};
constexpr colour negative[] = {{255, 245, 235}, {253, 141, 60}, {127, 39, 4}};

colour mixed(const colour (&stops)[3], double at) {
    const double place = std::clamp(at, 0.0, 1.0) * 2.0;
    const int lower = place < 1.0 ? 0 : 1;
    const double share = place - lower;
    const auto between = [&](std::uint8_t a, std::uint8_t b) {
        return static_cast<std::uint8_t>(std::lround(a + share * (b - a)));
    };
    const colour &from = stops[lower], &to = stops[lower + 1];
    return {between(from.red, to.red), between(from.green, to.green), between(from.blue, to.blue)};
}

struct grid_value {
    bool visible;
    double value;
};

// Numbers as colours: `at(row, column)` gives them, `top` is the darkest. `power` spreads small numbers.
struct grid {
    std::int64_t rows, columns;
    std::function<grid_value(std::int64_t row, std::int64_t column)> at;
    double top = 1.0, power = 1.0;

    colour colour_of(double value) const {
        if (std::isnan(value)) return not_a_number;
        return mixed(value < 0.0 ? negative : positive, std::pow(std::fabs(value) / top, power));
    }
};

struct fonts {
    font labels, titles;

    explicit fonts(const picture_options &how) : labels(how.font, label_pixels), titles(how.font, title_pixels) {}
};

grid_size size_of(std::int64_t rows, std::int64_t columns, std::int64_t wanted, std::int64_t largest_cell,
                  const font &labels) {
    const std::int64_t most = std::max<std::int64_t>({rows, columns, 1});
    const std::int64_t pool = (most + most_cells - 1) / most_cells;
    const std::int64_t cell = std::clamp<std::int64_t>(wanted / most, 1, largest_cell);
    return {cell, pool, (rows + pool - 1) / pool, (columns + pool - 1) / pool, (labels.height() + cell - 1) / cell};
}

std::int64_t width_of(const std::vector<std::string> &labels, const font &with) {
    std::int64_t width = 0;
    for (const std::string &label : labels)
        width = std::max<std::int64_t>(width, std::min<std::int64_t>(with.width_of(label), longest_label));
    return width;
}

// Of several numbers that share a square, the one of the largest magnitude.
grid_value pooled(const grid &of, std::int64_t row, std::int64_t column, std::int64_t pool) {
    grid_value result{false, 0.0};
    for (std::int64_t r = row * pool; r < std::min((row + 1) * pool, of.rows); ++r)
        for (std::int64_t c = column * pool; c < std::min((column + 1) * pool, of.columns); ++c) {
            const grid_value value = of.at(r, c);
            if (!value.visible) continue;
            if (!result.visible || !(std::fabs(value.value) <= std::fabs(result.value))) result = value;
        }
    return result;
}

void draw_grid(canvas &on, std::int64_t x, std::int64_t y, const grid &of, const grid_size &size) {
    for (std::int64_t row = 0; row < size.rows; ++row)
        for (std::int64_t column = 0; column < size.columns; ++column) {
            const grid_value value = pooled(of, row, column, size.pool);
            on.fill(x + column * size.cell, y + row * size.cell, size.cell, size.cell,
                    value.visible ? of.colour_of(value.value) : hidden);
        }
}

// `x`: the right end of the labels.
void draw_row_labels(canvas &on, std::int64_t x, std::int64_t y, const std::vector<std::string> &labels,
                     const grid_size &size, const font &with) {
    for (std::int64_t row = 0; row < size.rows; row += size.step) {
        const std::string text = with.shortened(labels[static_cast<std::size_t>(row * size.pool)], longest_label);
        on.write(with, x - with.width_of(text), y + row * size.cell + (size.cell - with.height()) / 2, text);
    }
}

// `y`: the lower end of the labels.
void draw_column_labels(canvas &on, std::int64_t x, std::int64_t y, const std::vector<std::string> &labels,
                        const grid_size &size, const font &with) {
    for (std::int64_t column = 0; column < size.columns; column += size.step)
        on.write_upwards(with, x + column * size.cell + (size.cell - with.height()) / 2, y,
                         with.shortened(labels[static_cast<std::size_t>(column * size.pool)], longest_label));
}

void draw_scale(canvas &on, std::int64_t x, std::int64_t y, const grid &of, const std::string &what, const font &with) {
    on.write(with, x, y, "0");
    const std::int64_t left = x + with.width_of("0") + gap;
    for (std::int64_t i = 0; i < scale_width; ++i)
        on.fill(left + i, y + 2, 1, scale_height,
                of.colour_of(of.top * static_cast<double>(i) / static_cast<double>(scale_width - 1)));
    on.write(with, left + scale_width + gap, y, fmt::format("{:.3g}   {}", of.top, what));
}

std::int64_t scale_end(const grid &of, const std::string &what, const font &with) {
    return with.width_of("0") + 2 * gap + scale_width + with.width_of(fmt::format("{:.3g}   {}", of.top, what));
}

picture_layout layout_of(const grid_size &size, const std::vector<std::string> &rows,
                         const std::vector<std::string> &columns, const std::string &title, const grid &of,
                         const std::string &scale, const fonts &with) {
    picture_layout layout{0, 0, 0, 0, size};
    layout.left = margin + width_of(rows, with.labels) + gap;
    layout.top = margin + with.titles.height() + gap + width_of(columns, with.labels) + gap;
    layout.width = std::max({layout.left + size.columns * size.cell, margin + with.titles.width_of(title),
                             margin + scale_end(of, scale, with.labels)}) +
                   margin;
    layout.height = layout.top + size.rows * size.cell + gap + with.labels.height() + margin;
    return layout;
}

void write_grid(const std::string &path, const picture_layout &layout, const grid &of,
                const std::vector<std::string> &rows, const std::vector<std::string> &columns, const std::string &title,
                const std::string &scale, const fonts &with) {
    canvas on(layout.width, layout.height);
    on.write(with.titles, margin, margin, title);
    draw_row_labels(on, layout.left - gap, layout.top, rows, layout.grid, with.labels);
    draw_column_labels(on, layout.left, layout.top - gap, columns, layout.grid, with.labels);
    draw_grid(on, layout.left, layout.top, of, layout.grid);
    draw_scale(on, margin, layout.height - margin - with.labels.height(), of, scale, with.labels);
    on.save(path);
}

std::vector<std::string> labels_or_positions(const std::vector<std::string> &labels, std::int64_t count,
                                             std::int64_t start) {
    if (!labels.empty()) return labels;
    std::vector<std::string> positions;
    for (std::int64_t i = 0; i < count; ++i) positions.push_back(fmt::format("{}", start + i));
    return positions;
}

std::vector<std::string> row_labels(const attention &of, std::int64_t batch) {
    return labels_or_positions(of.query_labels, of.weights.extents()[2], start_of(of, batch));
}

std::vector<std::string> column_labels(const attention &of) {
    return labels_or_positions(of.key_labels, of.weights.extents()[3], 0);
}

// Weights are seldom above 1, but may be where they are no softmax.
double largest_weight(const attention &of, std::int64_t batch, std::int64_t first_head, std::int64_t heads) {
    const auto &extents = of.weights.extents();
    double largest = 1.0;
    for (std::int64_t h = first_head; h < first_head + heads; ++h)
        for (std::int64_t row = 0; row < extents[2]; ++row)
            for (std::int64_t key = 0; key < extents[3]; ++key) {
                const double weight = std::fabs(weight_at(of, batch, h, row, key));
                if (std::isfinite(weight)) largest = std::max(largest, weight);
            }
    return largest;
}

grid weights_of(const attention &of, std::int64_t batch, std::int64_t head, double top) {
    const auto &extents = of.weights.extents();
    const auto at = [&of, batch, head](std::int64_t row, std::int64_t key) {
        return grid_value{is_visible(of, batch, head, row, key), weight_at(of, batch, head, row, key)};
    };
    // The square root: in a long row every weight is small.
    return {extents[2], extents[3], at, top, 0.5};
}

const char *const weight_scale = "weight, by its square root; grey: not visible";
constexpr std::int64_t map_pixels = 768, map_cell = 24, sheet_pixels = 320, sheet_cell = 14;

void check_index(const char *what, std::int64_t index, std::int64_t count) {
    if (index < 0 || index >= count)
        throw std::invalid_argument(fmt::format("heed::inspect: {} {} of {}", what, index, count));
}

std::string map_title(const attention &of, std::int64_t head, const picture_options &how) {
    std::string title = of.head_name(head);
    if (of.weights.extents()[0] > 1) title += fmt::format(", batch entry {}", how.batch_entry);
    return title + ": queries down, keys to the right";
}

}  // namespace

picture_layout heat_map_layout(const attention &of, std::int64_t head, const picture_options &how) {
    const fonts with(how);
    const auto &extents = of.weights.extents();
    return layout_of(size_of(extents[2], extents[3], map_pixels, map_cell, with.labels),
                     row_labels(of, how.batch_entry), column_labels(of), map_title(of, head, how),
                     weights_of(of, how.batch_entry, head, largest_weight(of, how.batch_entry, head, 1)), weight_scale,
                     with);
}

void write_heat_map(const std::string &path, const attention &of, std::int64_t head, const picture_options &how) {
    check(of);
    check_index("head", head, of.weights.extents()[1]);
    check_index("batch entry", how.batch_entry, of.weights.extents()[0]);
    const fonts with(how);
    const grid weights = weights_of(of, how.batch_entry, head, largest_weight(of, how.batch_entry, head, 1));
    write_grid(path, heat_map_layout(of, head, how), weights, row_labels(of, how.batch_entry), column_labels(of),
               map_title(of, head, how), weight_scale, with);
}

void write_contact_sheet(const std::string &path, const attention &of, std::int64_t layer, const picture_options &how) {
    check(of);
    check_index("layer", layer, of.layers());
    check_index("batch entry", how.batch_entry, of.weights.extents()[0]);
    const fonts with(how);
    const auto &extents = of.weights.extents();
    const std::int64_t heads = of.heads_per_layer == 0 ? extents[1] : of.heads_per_layer, first = layer * heads;
    // Wider than high.
    const auto across = std::max<std::int64_t>(1, std::llround(std::ceil(std::sqrt(static_cast<double>(heads) * 1.2))));
    const std::int64_t down = (heads + across - 1) / across;
    const grid_size size = size_of(extents[2], extents[3], sheet_pixels, sheet_cell, with.labels);
    const std::vector<std::string> rows = row_labels(of, how.batch_entry), columns = column_labels(of);
    const double top = largest_weight(of, how.batch_entry, first, heads);
    const grid scale = weights_of(of, how.batch_entry, first, top);

    const std::int64_t line = with.titles.height(),
                       panel_width =
                           std::max<std::int64_t>(size.columns * size.cell, with.titles.width_of("head 00")) + margin,
                       panel_height = line + size.rows * size.cell + margin;
    const std::int64_t left = margin + width_of(rows, with.labels) + gap,
                       above = margin + line + gap + width_of(columns, with.labels) + gap;
    std::string title = of.layers() > 1 ? fmt::format("layer {}", layer) : "all heads";
    if (extents[0] > 1) title += fmt::format(", batch entry {}", how.batch_entry);
    title += ": queries down, keys to the right";
    canvas on(std::max({left + across * panel_width, 2 * margin + with.titles.width_of(title),
                        2 * margin + scale_end(scale, weight_scale, with.labels)}),
              above + down * panel_height + with.labels.height() + margin);
    on.write(with.titles, margin, margin, title);
    for (std::int64_t i = 0; i < heads; ++i) {
        const std::int64_t column = i % across, row = i / across;
        const std::int64_t x = left + column * panel_width, y = above + row * panel_height;
        on.write(with.titles, x, y, fmt::format("head {}", i));
        // Maps side by side share the labels of rows, maps above each other those of columns.
        if (column == 0) draw_row_labels(on, x - gap, y + line, rows, size, with.labels);
        if (row == 0) draw_column_labels(on, x, y - gap, columns, size, with.labels);
        draw_grid(on, x, y + line, weights_of(of, how.batch_entry, first + i, top), size);
    }
    draw_scale(on, margin, on.height() - margin - with.labels.height(), scale, weight_scale, with.labels);
    on.save(path);
}

void write_similarity(const std::string &path, const attention &of, const statistics &found,
                      const picture_options &how) {
    const fonts with(how);
    std::vector<std::string> names;
    for (std::int64_t h = 0; h < found.heads; ++h) names.push_back(of.head_name(h));
    const grid similarity{found.heads, found.heads,
                          [&](std::int64_t a, std::int64_t b) {
                              const double value = found.similarity_of(a, b);
                              return grid_value{!std::isnan(value), value};
                          },
                          1.0, 1.0};
    const std::string title = "similarity of heads", scale = "1 - Jensen-Shannon divergence / log 2";
    const grid_size size = size_of(found.heads, found.heads, map_pixels, map_cell, with.labels);
    write_grid(path, layout_of(size, names, names, title, similarity, scale, with), similarity, names, names, title,
               scale, with);
}

}  // namespace heed::inspect
