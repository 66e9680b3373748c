// SPDX-License-Identifier: MIT
#include "arithmetic.hpp"

#include <cmath>
#include <limits>

namespace heed::generators {

using Halide::Expr;

namespace {

using Halide::Internal::Call;

// As IEEE 754 has them, without making the operands strict as well, as Halide::strict_float does.
Expr strict_difference(const Expr &a, const Expr &b) {
    return Call::make(a.type(), Call::strict_sub, {a, b}, Call::PureIntrinsic);
}

Expr strict_less(const Expr &a, const Expr &b) {
    return Call::make(Halide::Bool(), Call::strict_lt, {a, b}, Call::PureIntrinsic);
}

}  // namespace

Expr exp_of_nonpositive(const Expr &x) {
    const float log2_e = 1.44269504088896340736f;
    // Adding 1.5 * 2^23 rounds to an integer, which then stands in the low bits of the sum; 127 more makes it the
    // exponent of a float. The subtraction is strict, or LLVM would cancel the constants.
    const float to_exponent = 12582912.0f + 127.0f;
    // The factor differs from log2_e in its last bit, which does not matter here, so that neither product is shared and
    // both become part of a fused operation: one instruction less, and no rounding before the fraction is taken.
    const Expr shifted = x * std::nextafter(log2_e, 2.0f) + to_exponent;
    const Expr fraction = x * log2_e - strict_difference(shifted, to_exponent);
    const Expr power_of_two = Halide::reinterpret<float>(Halide::reinterpret<int>(shifted) << 23);
    // Minimax polynomial of 2^f on [-1/2, 1/2], constant term 1 so that 2^0 is exact; relative error 9e-8 before
    // rounding.
    Expr power = 1.3264727e-3f;
    for (const float coefficient : {9.6715130e-3f, 5.5507336e-2f, 2.4022242e-1f, 6.9314700e-1f, 1.0f}) {
        power = power * fraction + coefficient;
    }
    // Strict, or LLVM would let NaN vanish.
    return Halide::select(strict_less(x, -44.0f), 0.0f, power * power_of_two);
}

Expr to_float(const Expr &stored, bool has_f16c) { return to_float(stored, stored.type(), has_f16c); }

Expr to_float(const Expr &stored, const Halide::Type &type, bool has_f16c) {
    if (type == Halide::Float(32)) return stored;
    const bool is_f16 = type == Halide::Float(16);
    if (type.is_int()) return Halide::cast<float>(stored);
    if (is_f16 && has_f16c) {
        return Halide::cast<float>(stored.type() == type ? stored : Halide::reinterpret(type, stored));
    }
    const Expr bits = Halide::cast<uint32_t>(Halide::reinterpret<uint16_t>(stored));
    if (!is_f16) return Halide::reinterpret<float>(bits << 16);
    // The exponent's bias grows from 15 to 127 by a multiplication, which makes subnormal numbers right, too.
    const Expr magnitude = bits & Expr(uint32_t(0x7fff));
    const Expr number = Halide::reinterpret<uint32_t>(Halide::reinterpret<float>(magnitude << 13) * 0x1p112f);
    const Expr not_finite = (magnitude << 13) | Expr(uint32_t(0x7f800000));
    const Expr sign = (bits & Expr(uint32_t(0x8000))) << 16;
    return Halide::reinterpret<float>(sign | Halide::select(magnitude >= Expr(uint32_t(0x7c00)), not_finite, number));
}

Expr from_float(const Expr &value, const Halide::Type &type, bool has_f16c) {
    if (type == Halide::Float(32)) return value;
    if (type == Halide::Float(16) && has_f16c) return Halide::cast(type, value);
    return Halide::reinterpret(type, bits_from_float(value, type, has_f16c));
}

Expr bits_from_float(const Expr &value, const Halide::Type &type, bool has_f16c) {
    const bool is_f16 = type == Halide::Float(16);
    if (is_f16 && has_f16c) return Halide::reinterpret<uint16_t>(Halide::cast(type, value));
    const auto word = [](uint32_t number) { return Expr(number); };
    const Expr bits = Halide::reinterpret<uint32_t>(value), magnitude = bits & word(0x7fffffff);
    const Expr is_nan = magnitude > word(0x7f800000);
    const auto rounded = [&](const Expr &from, int count) {
        return (from + word((1u << (count - 1)) - 1) + ((from >> count) & 1)) >> count;
    };
    Expr result;
    if (is_f16) {
        // Adding 1/2 to a number below the smallest normal one leaves its rounded multiple of 2^-24 in the low bits.
        const Expr small =
            Halide::reinterpret<uint32_t>(Halide::Internal::Call::make(
                Halide::Float(32), Halide::Internal::Call::strict_add,
                {Halide::reinterpret<float>(magnitude), Expr(0.5f)}, Halide::Internal::Call::PureIntrinsic)) -
            word(0x3f000000);
        const Expr normal = rounded(magnitude - word(0x38000000), 13);
        const Expr number = Halide::select(magnitude < word(0x38800000), small, normal);
        result = Halide::select(is_nan, word(0x7e00), magnitude >= word(0x477ff000), word(0x7c00), number) |
                 ((bits >> 16) & word(0x8000));
    } else {
        result = Halide::select(is_nan, (bits >> 16) | word(0x40), rounded(bits, 16));
    }
    return Halide::cast<uint16_t>(result);
}

Expr magnitude_bits(const Expr &x) { return Halide::reinterpret<uint32_t>(x) & Expr(uint32_t(0x7fffffff)); }

Expr is_finite_magnitude(const Expr &bits) { return bits < Expr(uint32_t(0x7f800000)); }

Expr divided_up(const Expr &a, int b) { return (a + (b - 1)) / b; }

Expr minus_infinity() {
    return Halide::Internal::make_const(Halide::Float(32), -std::numeric_limits<double>::infinity());
}

Expr is_positive_zero(const Expr &x) { return Halide::reinterpret<int>(x) == 0; }

Expr is_minus_infinity(const Expr &x) { return Halide::reinterpret<int>(x) == Expr(int(0xff800000u)); }

Expr finite_reference(const Expr &x) { return Halide::select(is_minus_infinity(x), 0.0f, x); }

}  // namespace heed::generators
