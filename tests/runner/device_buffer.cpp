// SPDX-License-Identifier: MIT
//
// How tensors of more elements than Halide counts in one dimension lie in memory of a device.
#include "device_buffer.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <stdexcept>

using heed::runner::buffer_extents;
using heed::runner::extents_of;

TEST_CASE("extents of a device's memory fit 32 bits, and make all elements") {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    for (const std::int64_t elements : {std::int64_t{1}, std::int64_t{1} << 20, most}) {
        CHECK(extents_of(elements).columns == elements);
        CHECK(extents_of(elements).rows == 0);
    }
    // 64 batches of 32 heads with 8192 keys of 128.
    for (const std::int64_t elements : {std::int64_t{1} << 31, std::int64_t{65} << 25, 3 * most}) {
        CAPTURE(elements);
        const buffer_extents extents = extents_of(elements);
        CHECK(extents.columns * extents.rows == elements);
        CHECK(extents.columns <= most);
        CHECK(extents.columns > 0);
    }
}

TEST_CASE("elements that two such extents cannot make are refused with their number") {
    const auto refusal = [](std::int64_t elements) -> std::string {
        try {
            extents_of(elements);
        } catch (const std::runtime_error &error) {
            return error.what();
        }
        return "";
    };
    // The next prime after 2^31.
    CHECK(refusal(2147483659).find("a tensor of 2147483659 elements is no product of two numbers up to 2147483647") !=
          std::string::npos);
    CHECK(refusal(std::numeric_limits<std::int64_t>::max()).find("Fix: ") != std::string::npos);
}
