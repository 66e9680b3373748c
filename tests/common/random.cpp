// SPDX-License-Identifier: MIT
#include "random.hpp"

#include <cstdlib>

namespace heed::tests {

std::uint64_t seed() {
    const char *given = std::getenv("HEED_TEST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 20240607;
}

// Not the standard distributions: their results differ between standard libraries.
double filler::real(double largest) {
    return largest * (static_cast<double>(random_() >> 11) * (2.0 / 9007199254740992.0) - 1.0);
}

std::int64_t filler::integer(std::int64_t lowest, std::int64_t highest) {
    return lowest + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(highest - lowest + 1));
}

}  // namespace heed::tests
