// SPDX-License-Identifier: MIT
//
// Random numbers that are the same on every run. A failing test prints the seed; HEED_TEST_SEED sets another.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

class random_numbers {
  public:
    std::uint64_t seed() const { return seed_; }

    /// Between `lowest` and `highest`, both possible. Not a standard distribution: results of those differ between
    /// libraries.
    std::int64_t integer(std::int64_t lowest, std::int64_t highest) {
        return lowest + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(highest - lowest + 1));
    }

    /// In [-largest, largest).
    double real(double largest) {
        return largest * (static_cast<double>(random_() >> 11) * (2.0 / 9007199254740992.0) - 1.0);
    }

  private:
    static std::uint64_t given_seed() {
        const char *given = std::getenv("HEED_TEST_SEED");
        return given != nullptr ? std::strtoull(given, nullptr, 10) : 20240607;
    }

    std::uint64_t seed_ = given_seed();
    std::mt19937_64 random_{seed_};
};
