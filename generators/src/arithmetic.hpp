// SPDX-License-Identifier: MIT
//
// Floating-point building blocks of the kernels. Halide lets LLVM assume that no value is NaN or infinite; where Heed
// relies on such values, the operation is strict or works on the bits.
#pragma once

#include <Halide.h>

namespace heed::generators {

/// e^x for x <= 0 or NaN; relative error below 3e-7 + 6e-8 |x|. Exactly 0 below e^-44, which no sum in f32 notices:
/// products of the smallest weights with values would be subnormal, and those cost eight times as much on some
/// processors.
Halide::Expr exp_of_nonpositive(const Halide::Expr &x);

/// An element as it lies in memory, as a float. `has_f16c`: the target converts f16 by instructions of its own. NaN
/// stays NaN, which Halide's conversions do not promise. Of i8 the whole number.
Halide::Expr to_float(const Halide::Expr &stored, bool has_f16c);

/// The same of an element that is of `type`, or is its bits as a whole number.
Halide::Expr to_float(const Halide::Expr &stored, const Halide::Type &type, bool has_f16c);

/// A float as it is stored, rounded to nearest, ties to even.
Halide::Expr from_float(const Halide::Expr &value, const Halide::Type &type, bool has_f16c);

/// The bits of the same, as a whole number.
Halide::Expr bits_from_float(const Halide::Expr &value, const Halide::Type &type, bool has_f16c);

/// The bits of |x|, which compare as the numbers do; NaN has more than infinity.
Halide::Expr magnitude_bits(const Halide::Expr &x);

/// Whether the number, or the largest of several, that has these magnitude_bits is neither infinite nor NaN.
Halide::Expr is_finite_magnitude(const Halide::Expr &bits);

/// a / b of whole numbers above 0, rounded up.
Halide::Expr divided_up(const Halide::Expr &a, int b);

/// -inf.
Halide::Expr minus_infinity();

/// Whether x is 0 (and not -0 or NaN).
Halide::Expr is_positive_zero(const Halide::Expr &x);

/// Whether x is -inf, whatever LLVM assumes of floats.
Halide::Expr is_minus_infinity(const Halide::Expr &x);

/// x, or 0 where x is -inf: a maximum over nothing, made safe to subtract.
Halide::Expr finite_reference(const Halide::Expr &x);

}  // namespace heed::generators
