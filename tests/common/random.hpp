// SPDX-License-Identifier: MIT
//
// Random numbers that are the same on every run. A failing test prints the seed; HEED_TEST_SEED sets another.
#pragma once

#include "tensor.hpp"

#include <cstdint>
#include <random>

namespace heed::tests {

/// HEED_TEST_SEED, or a constant.
std::uint64_t seed();

/// Numbers in [-largest, largest], drawn in an order that only the seed decides.
class filler {
    std::mt19937_64 random_;

  public:
    explicit filler(std::uint64_t salt = 0) : random_(seed() + 0x9e3779b97f4a7c15u * salt) {}

    double real(double largest);
    std::int64_t integer(std::int64_t lowest, std::int64_t highest);

    template <int Rank>
    void fill(tensor<float, Rank> &values, double largest = 1) {
        for_each_index<Rank>(values.extents(),
                             [&](const auto &index) { values[index] = static_cast<float>(real(largest)); });
    }
    template <int Rank>
    void fill(tensor<std::int32_t, Rank> &values, std::int64_t lowest, std::int64_t highest) {
        for_each_index<Rank>(values.extents(), [&](const auto &index) {
            values[index] = static_cast<std::int32_t>(integer(lowest, highest));
        });
    }
};

}  // namespace heed::tests
