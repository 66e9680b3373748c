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

Expr minus_infinity() {
    return Halide::Internal::make_const(Halide::Float(32), -std::numeric_limits<double>::infinity());
}

Expr is_positive_zero(const Expr &x) { return Halide::reinterpret<int>(x) == 0; }

Expr is_minus_infinity(const Expr &x) { return Halide::reinterpret<int>(x) == Expr(int(0xff800000u)); }

Expr finite_reference(const Expr &x) { return Halide::select(is_minus_infinity(x), 0.0f, x); }

}  // namespace heed::generators
