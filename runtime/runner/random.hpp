// SPDX-License-Identifier: MIT
//
// Random numbers that are the same with every standard library.
#pragma once

#include <cstdint>

namespace heed::runner {

/// splitmix64 (Steele, Lea, Flood 2014).
class random_source {
  public:
    explicit random_source(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }

    /// Uniform in [lowest, highest].
    std::int64_t integer(std::int64_t lowest, std::int64_t highest) {
        return lowest + static_cast<std::int64_t>(bits() % static_cast<std::uint64_t>(highest - lowest + 1));
    }

    /// Uniform in [0, 1).
    double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    /// Close to a standard normal distribution: the sum of four uniform numbers.
    float normal() {
        const std::uint64_t four = bits();
        std::int64_t sum = -2 * 0xffff;
        for (int i = 0; i < 4; ++i) sum += static_cast<std::int64_t>((four >> (16 * i)) & 0xffff);
        return static_cast<float>(static_cast<double>(sum) * (1.7320508075688772 / 65536.0));
    }

  private:
    std::uint64_t state_;
};

}  // namespace heed::runner
