// SPDX-License-Identifier: MIT
//
// Text tables and a progress line.
#pragma once

#include <string>
#include <vector>

namespace heed::runner {

/// A table whose columns are as wide as their widest cell. Numbers are right-aligned, words left-aligned.
class text_table {
  public:
    explicit text_table(std::vector<std::string> header) : rows_{std::move(header)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    bool empty() const { return rows_.size() == 1; }
    std::string text() const;

  private:
    std::vector<std::vector<std::string>> rows_;
};

/// One line on stderr that shows how far a command is; nothing where stderr is not a terminal.
class progress_line {
  public:
    explicit progress_line(std::size_t steps);
    ~progress_line();
    progress_line(const progress_line &) = delete;
    progress_line &operator=(const progress_line &) = delete;
    /// Says what is being done now and counts it.
    void step(const std::string &what);
    void clear();

  private:
    bool shown_;
    std::size_t steps_, done_ = 0;
};

}  // namespace heed::runner
