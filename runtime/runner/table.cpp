// SPDX-License-Identifier: MIT
#include "table.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace heed::runner {

namespace {

bool is_number(const std::string &cell) {
    return cell.empty() || cell == "inf" || cell == "nan" || cell[0] == '-' ||
           std::isdigit(static_cast<unsigned char>(cell[0])) != 0;
}

}  // namespace

std::string text_table::text() const {
    const std::size_t columns = rows_.front().size();
    std::vector<std::size_t> widths(columns, 0);
    std::vector<bool> right(columns, rows_.size() > 1);
    for (std::size_t r = 0; r < rows_.size(); ++r)
        for (std::size_t c = 0; c < columns; ++c) {
            widths[c] = std::max(widths[c], rows_[r][c].size());
            if (r > 0 && !is_number(rows_[r][c])) right[c] = false;
        }
    std::string result;
    for (const auto &row : rows_) {
        std::string line;
        for (std::size_t c = 0; c < columns; ++c) {
            if (c > 0) line += "  ";
            line += right[c] ? fmt::format("{:>{}}", row[c], widths[c]) : fmt::format("{:<{}}", row[c], widths[c]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        result += line + "\n";
    }
    return result;
}

progress_line::progress_line(std::size_t steps) : shown_(isatty(STDERR_FILENO) != 0), steps_(steps) {}

progress_line::~progress_line() { clear(); }

void progress_line::step(const std::string &what) {
    if (shown_) {
        constexpr std::size_t width = 24;
        const std::size_t filled = steps_ == 0 ? width : std::min(width, width * done_ / steps_);
        fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}", std::string(filled, '#'), std::string(width - filled, '.'), done_,
                   steps_, what);
        std::fflush(stderr);
    }
    ++done_;
}

void progress_line::clear() {
    if (!shown_) return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
}

}  // namespace heed::runner
