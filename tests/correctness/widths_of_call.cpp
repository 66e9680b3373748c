// SPDX-License-Identifier: MIT
//
// Widths that inputs decide, up to the largest number of 32 bits: callers say "no window" by that.
#include <verify.hpp>

#include "heed_word_kernels.hpp"

#include <array>
#include <cstdint>
#include <limits>

using namespace heed::tests;

namespace {

constexpr std::int32_t largest = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t lowest = std::numeric_limits<std::int32_t>::min();
constexpr std::array<lengths, 4> some_lengths{{{1, 300}, {65, 129}, {130, 520}, {200, 70}}};

/// How far back the key is.
std::int64_t distance(const pair &at) { return at.q - at.kv; }

}  // namespace

TEST_CASE("sliding_window and first_tokens of any width") {
    for (const std::int32_t width : {lowest, 0, 20, 1 << 30, largest - 63, largest}) {
        for (const std::int32_t count : {lowest, 3, largest}) {
            const std::array<std::int32_t, 2> first{count, 1};
            const semantics meaning{.attends = [&](const pair &at) {
                return causal(at) && (distance(at) < width || at.kv < first[static_cast<std::size_t>(at.head)]);
            }};
            for (const lengths &sizes : some_lengths) {
                CAPTURE(width);
                CAPTURE(count);
                verify(kernels::window_of_call, sizes, {width, {first.data(), {2}}}, meaning);
            }
        }
    }
}

TEST_CASE("dilated_window of any width and dilation") {
    for (const std::int32_t width : {0, 5, 1 << 30, largest}) {
        for (const std::int32_t dilation : {1, 3, 1000, largest}) {
            const semantics meaning{.attends = [&](const pair &at) {
                return causal(at) && distance(at) < std::int64_t{width} * dilation && distance(at) % dilation == 0;
            }};
            for (const lengths &sizes : some_lengths) {
                CAPTURE(width);
                CAPTURE(dilation);
                verify(kernels::dilated_of_call, sizes, {width, dilation}, meaning);
            }
        }
    }
}

TEST_CASE("neighbourhood of any radius") {
    for (const std::int32_t radius : {lowest, -1, 0, 17, 1 << 30, largest}) {
        const std::array<std::int32_t, 2> radii{radius, 2};
        const semantics meaning{.attends = [&](const pair &at) {
            return std::abs(distance(at)) <= radii[static_cast<std::size_t>(at.batch)];
        }};
        for (const lengths &sizes : some_lengths) {
            CAPTURE(radius);
            verify(kernels::near_of_call, sizes, {{radii.data(), {2}}}, meaning);
        }
    }
}

TEST_CASE("counts of any size") {
    for (const std::int32_t count : {lowest, 0, 40, 1 << 30, largest - 63, largest}) {
        const std::array<std::int32_t, 2> counts{count, 30};
        for (const lengths &sizes : some_lengths) {
            CAPTURE(count);
            verify(kernels::padded_causal, sizes, {{counts.data(), {2}}}, {.attends = [&](const pair &at) {
                       return causal(at) && at.kv < counts[static_cast<std::size_t>(at.batch)];
                   }});
            // The word takes first keys within +-2^30 only.
            if (count != lowest) {
                verify(kernels::left_padded, sizes, {{counts.data(), {2}}}, {.attends = [&](const pair &at) {
                           return causal(at) && at.kv >= counts[static_cast<std::size_t>(at.batch)];
                       }});
            }
            verify(kernels::both_padded, sizes, {{counts.data(), {2}}, {counts.data(), {2}}},
                   {.attends =
                        [&](const pair &at) {
                            const std::int64_t end = counts[static_cast<std::size_t>(at.batch)];
                            return at.kv < end && at.q < end;
                        },
                    .query_start = [](std::int64_t) { return 0; }});
            verify(kernels::with_global, sizes, {count}, {.attends = [&](const pair &at) {
                       return std::abs(distance(at)) <= 8 || at.q < count || at.kv < count;
                   }});
        }
    }
}
