// SPDX-License-Identifier: MIT
//
// Whole numbers of rows, keys and tiles.
#pragma once

#include <algorithm>

namespace heed::generators {

constexpr int divided_up(int a, int b) { return (a + b - 1) / b; }

constexpr int rounded_up(int a, int b) { return divided_up(a, b) * b; }

/// The largest number up to `limit` that divides `number`.
constexpr int largest_divisor(int number, int limit) {
    int divisor = std::min(number, limit);
    while (number % divisor != 0) --divisor;
    return divisor;
}

}  // namespace heed::generators
