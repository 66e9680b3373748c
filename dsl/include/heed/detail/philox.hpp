// SPDX-License-Identifier: MIT
//
// Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3",
// section 3.3): four random words from a counter of four words and a key of two, with no state in between. `Word` is
// an unsigned 32-bit number, or the generator's expression for one.
#pragma once

#include <heed/detail/needs_cpp20.hpp>

#include <array>
#include <cstdint>

namespace heed::detail {

template <class Word, class MultiplyHigh>
constexpr std::array<Word, 4> philox(std::array<Word, 4> counter, std::array<Word, 2> key,
                                     const MultiplyHigh &multiply_high) {
    const Word first_multiplier(std::uint32_t{0xD2511F53}), second_multiplier(std::uint32_t{0xCD9E8D57});
    const Word golden_ratio(std::uint32_t{0x9E3779B9}), root_of_three(std::uint32_t{0xBB67AE85});
    for (int round = 0; round < 10; ++round) {
        const Word high_0 = multiply_high(first_multiplier, counter[0]), low_0 = first_multiplier * counter[0];
        const Word high_2 = multiply_high(second_multiplier, counter[2]), low_2 = second_multiplier * counter[2];
        counter = {high_2 ^ counter[1] ^ key[0], low_2, high_0 ^ counter[3] ^ key[1], low_0};
        key = {key[0] + golden_ratio, key[1] + root_of_three};
    }
    return counter;
}

}  // namespace heed::detail
