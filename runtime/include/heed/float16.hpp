// SPDX-License-Identifier: MIT
//
// Two-byte floating-point numbers as tensors store them. They convert to and from float; sums are never in them.
#pragma once

#include <cstdint>
#include <cstring>

namespace heed {

namespace detail {

inline std::uint32_t bits_of(float value) noexcept {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

inline float float_of(std::uint32_t bits) noexcept {
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/// `bits` without the lowest `count`, rounded to nearest, ties to even.
constexpr std::uint32_t rounded_shift(std::uint32_t bits, int count) noexcept {
    const std::uint32_t half = std::uint32_t{1} << (count - 1);
    return (bits + (half - 1) + (bits >> count & 1)) >> count;
}

}  // namespace detail

/// IEEE 754 binary16: 5 bits of exponent, 10 of fraction; largest number 65504.
struct float16 {
    std::uint16_t bits = 0;

    float16() = default;
    /// Rounds to nearest, ties to even; numbers too large become infinite.
    explicit float16(float value) noexcept {
        const std::uint32_t all = detail::bits_of(value), magnitude = all & 0x7fffffff;
        std::uint32_t result = 0;
        if (magnitude > 0x7f800000) {
            result = 0x7e00 | (magnitude >> 13 & 0x1ff);
        } else if (magnitude >= 0x477ff000) {
            result = 0x7c00;
        } else if (magnitude >= 0x38800000) {
            result = detail::rounded_shift(magnitude - 0x38000000, 13);
        } else if (magnitude >= 0x33000000) {
            const int exponent = static_cast<int>(magnitude >> 23);
            result = detail::rounded_shift((magnitude & 0x7fffff) | 0x800000, 126 - exponent);
        }
        bits = static_cast<std::uint16_t>((all >> 16 & 0x8000) | result);
    }

    operator float() const noexcept {
        const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16, exponent = bits >> 10 & 31,
                            fraction = bits & 0x3ff;
        if (exponent == 31) return detail::float_of(sign | 0x7f800000 | fraction << 13);
        if (exponent != 0) return detail::float_of(sign | (exponent + 112) << 23 | fraction << 13);
        const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
};

/// The upper half of a float: 8 bits of exponent, 7 of fraction.
struct bfloat16 {
    std::uint16_t bits = 0;

    bfloat16() = default;
    /// Rounds to nearest, ties to even.
    explicit bfloat16(float value) noexcept {
        const std::uint32_t all = detail::bits_of(value);
        const bool is_nan = (all & 0x7fffffff) > 0x7f800000;
        bits = static_cast<std::uint16_t>(is_nan ? all >> 16 | 0x40 : detail::rounded_shift(all, 16));
    }

    operator float() const noexcept { return detail::float_of(std::uint32_t{bits} << 16); }
};

}  // namespace heed
