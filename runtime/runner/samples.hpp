// SPDX-License-Identifier: MIT
//
// Repeated measurements of one thing.
#pragma once

#include <algorithm>
#include <vector>

namespace heed::runner {

class samples {
  public:
    void add(double value) { values_.push_back(value); }
    bool empty() const { return values_.empty(); }
    std::size_t count() const { return values_.size(); }
    double smallest() const { return *std::min_element(values_.begin(), values_.end()); }
    double largest() const { return *std::max_element(values_.begin(), values_.end()); }
    double median() const {
        std::vector<double> sorted = values_;
        std::sort(sorted.begin(), sorted.end());
        const std::size_t half = sorted.size() / 2;
        return sorted.size() % 2 == 1 ? sorted[half] : 0.5 * (sorted[half - 1] + sorted[half]);
    }

  private:
    std::vector<double> values_;
};

}  // namespace heed::runner
