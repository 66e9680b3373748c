// SPDX-License-Identifier: MIT
#include <heed/halide_arithmetic.hpp>

namespace heed::arithmetic {

using Halide::Expr;

namespace {

const uint32_t infinity_bits = 0x7f800000;

Expr magnitude_bits(const Expr &a) { return Halide::reinterpret<uint32_t>(a) & Expr(uint32_t(0x7fffffff)); }

using Halide::Internal::Call;

Expr strict(Call::IntrinsicOp comparison, const Expr &a, const Expr &b) {
    return Call::make(Halide::Bool(), comparison, {a, b}, Call::PureIntrinsic);
}

// By bits, because LLVM may assume that no value is NaN.
Expr is_not_a_number(const Expr &a) { return magnitude_bits(a) > Expr(infinity_bits); }

}  // namespace

// Halide's is unsigned for whole numbers, and what its loop trimming then concludes of comparisons is wrong.
Expr absolute(tag, const Expr &a) { return a.type().is_float() ? Halide::abs(a) : Halide::max(a, -a); }

// Of a select between conditions Halide's solver takes only the last one into account, and trims loops too far.
Expr choose(tag, const Expr &condition, const Expr &a, const Expr &b) {
    return a.type().is_bool() ? (condition && a) || (!condition && b) : Halide::select(condition, a, b);
}

// Halide rounds towards the divisor's sign so that remainders are never negative, and divides by 0 as Heed does.
Expr floor_divide(tag, const Expr &a, const Expr &b) {
    const Expr quotient = a / b;
    return Halide::Internal::is_positive_const(b) ? quotient : quotient - Halide::cast(a.type(), b < 0 && a % b != 0);
}

Expr floor_modulo(tag, const Expr &a, const Expr &b) {
    const Expr remainder = a % b;
    return Halide::Internal::is_positive_const(b) ? remainder
                                                  : remainder + Halide::select(b < 0 && remainder != 0, b, 0);
}

// Halide calls the C library once per lane. This is a rational approximation on [-7.9, 7.9], where tanh in f32 reaches
// 1; its coefficients are those in common use for vectors (for instance in Eigen). Relative error below 5e-7, exact at
// 0.
Expr tanh(tag, const Expr &a) {
    const float end = 7.90531110763549805f;
    const Expr x = Halide::clamp(a, -end, end);
    const Expr square = x * x;
    Expr numerator = -2.76076847742355e-16f;
    for (const float coefficient : {2.00018790482477e-13f, -8.60467152213735e-11f, 5.12229709037114e-08f,
                                    1.48572235717979e-05f, 6.37261928875436e-04f, 4.89352455891786e-03f}) {
        numerator = numerator * square + coefficient;
    }
    Expr denominator = 1.19825839466702e-06f;
    for (const float coefficient : {1.18534705686654e-04f, 2.26843463243900e-03f, 4.89352518554385e-03f}) {
        denominator = denominator * square + coefficient;
    }
    return Halide::select(is_not_a_number(a), a, x * numerator / denominator);
}

// Halide's vector versions of these make a number of NaN.
Expr exp(tag, const Expr &a) { return Halide::select(is_not_a_number(a), a, Halide::exp(a)); }

Expr log(tag, const Expr &a) { return Halide::select(is_not_a_number(a), a, Halide::log(a)); }

// Comparisons of real numbers are strict: false if one is NaN.
Expr is_less(tag, const Expr &a, const Expr &b) { return a.type().is_float() ? strict(Call::strict_lt, a, b) : a < b; }

Expr is_less_equal(tag, const Expr &a, const Expr &b) {
    // Not strict_le, which is compiled as the negation of b < a.
    return a.type().is_float() ? strict(Call::strict_lt, a, b) || strict(Call::strict_eq, a, b) : a <= b;
}

Expr is_equal(tag, const Expr &a, const Expr &b) {
    return a.type().is_float() ? strict(Call::strict_eq, a, b) : a == b;
}

Expr to_real(tag, const Expr &a) { return Halide::cast<float>(a); }

Expr is_finite(tag, const Expr &a) {
    return a.type().is_float() ? magnitude_bits(a) < Expr(infinity_bits) : Halide::Internal::const_true();
}

Expr constant_like(tag, const Expr &like, std::int64_t value) {
    return Halide::Internal::make_const(like.type(), value);
}

}  // namespace heed::arithmetic
