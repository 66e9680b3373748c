// SPDX-License-Identifier: MIT
#include "arithmetic.hpp"

#include <limits>

namespace heed::generators {

using Halide::Expr;

namespace {

/// a - b as IEEE 754 has it, without making a strict as well, as Halide::strict_float does.
Expr strict_difference(const Expr &a, const Expr &b) {
    using Halide::Internal::Call;
    return Call::make(a.type(), Call::strict_sub, {a, b}, Call::PureIntrinsic);
}

}  // namespace

Expr exp2_of_nonpositive(const Expr &x) {
    // Adding 1.5 * 2^23 rounds x to an integer, which then stands in the low bits of the sum.
    const float to_integer = 12582912.0f;
    const Expr shifted = x + to_integer;
    // Strict, or LLVM would cancel the two constants. Only this one: a strict addition before it would not fuse.
    const Expr whole = strict_difference(shifted, to_integer);
    const Expr fraction = x - whole;
    // Minimax polynomial of 2^f on [-1/2, 1/2], constant term 1 so that 2^0 is exact.
    Expr power = 1.3333558e-3f;
    for (const float coefficient : {9.6181291e-3f, 5.5504109e-2f, 2.4022651e-1f, 6.9314718e-1f, 1.0f}) {
        power = power * fraction + coefficient;
    }
    const Expr exponent = Halide::reinterpret<int>(shifted) << 23;
    const Expr result = Halide::reinterpret<float>(Halide::reinterpret<int>(power) + exponent);
    return Halide::select(x < -64.0f, 0.0f, result);
}

Expr minus_infinity() { return Halide::Internal::make_const(Halide::Float(32), -std::numeric_limits<double>::infinity()); }

Expr is_minus_infinity(const Expr &x) { return Halide::reinterpret<int>(x) == Expr(int(0xff800000u)); }

Expr finite_reference(const Expr &x) { return Halide::select(is_minus_infinity(x), 0.0f, x); }

}  // namespace heed::generators
