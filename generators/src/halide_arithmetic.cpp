// SPDX-License-Identifier: MIT
#include <heed/halide_arithmetic.hpp>

#include <initializer_list>

namespace heed::arithmetic {

using Halide::Expr;

namespace {

// Whole numbers with a sign: AVX2 has no comparison for others.
const int infinity_bits = 0x7f800000;

Expr magnitude_bits(const Expr &a) { return Halide::reinterpret<int>(a) & 0x7fffffff; }

using Halide::Internal::Call;

Expr strict(Call::IntrinsicOp comparison, const Expr &a, const Expr &b) {
    return Call::make(Halide::Bool(), comparison, {a, b}, Call::PureIntrinsic);
}

/// Whether anything is read: an element of a tensor or an input, or an intermediate result.
bool reads_data(const Expr &a) {
    struct : Halide::Internal::IRGraphVisitor {
        using Halide::Internal::IRGraphVisitor::visit;
        bool found = false;
        void visit(const Call *call) override {
            found = found || call->call_type == Call::Halide || call->call_type == Call::Image;
            IRGraphVisitor::visit(call);
        }
        void visit(const Halide::Internal::Variable *variable) override {
            found = found || variable->name.rfind("input_", 0) == 0;  // a number, see kernel_input
        }
    } reading;
    a.accept(&reading);
    return reading.found;
}

Expr polynomial(const Expr &x, std::initializer_list<float> from_the_highest) {
    Expr sum;
    for (const float coefficient : from_the_highest) sum = sum.defined() ? sum * x + coefficient : Expr(coefficient);
    return sum;
}

// By bits, because LLVM may assume that no value is NaN.
Expr is_not_a_number(const Expr &a) { return magnitude_bits(a) > Expr(infinity_bits); }

}  // namespace

// Halide's is unsigned for whole numbers, and what its loop trimming then concludes of comparisons is wrong.
Expr absolute(tag, const Expr &a) { return a.type().is_float() ? Halide::abs(a) : Halide::max(a, -a); }

namespace {

// Processors give the other operand where one is NaN, and LLVM any.
Expr unless_not_a_number(const Expr &a, const Expr &b, const Expr &otherwise) {
    Expr result = otherwise;
    for (const Expr &operand : {a, b}) {
        if (operand.type().is_float() && !Halide::Internal::is_const(operand)) {
            result = Halide::select(is_not_a_number(operand), operand, result);
        }
    }
    return result;
}

}  // namespace

// Halide's simplifier multiplies by the reciprocal of a constant instead, and 41 / 41 then rounds to less than 1. That
// is good enough for what is rounded anyway, and several times as fast; positions are to be divided as C++ does.
Expr quotient(tag, const Expr &a, const Expr &b) {
    if (!a.type().is_float() || reads_data(a)) return a / b;
    return Call::make(a.type(), Call::strict_div, {a, b}, Call::PureIntrinsic);
}

namespace {

Expr saturated(const Expr &wide) {
    return Halide::cast<int>(Halide::clamp(wide, Expr(int64_t{INT32_MIN}), Expr(int64_t{INT32_MAX})));
}

/// Two numbers that may have any size; with one of them only, Halide is to solve for positions.
bool are_both_data(const Expr &a, const Expr &b) { return !a.type().is_float() && reads_data(a) && reads_data(b); }

}  // namespace

// Bounds of a sum or product of two ranges are those of numbers that no pair need have, so they may leave 32 bits where
// no pair's does.
Expr bound_of_sum(tag, const Expr &a, const Expr &b) {
    return are_both_data(a, b) ? saturated(Halide::cast<int64_t>(a) + Halide::cast<int64_t>(b)) : a + b;
}

Expr bound_of_difference(tag, const Expr &a, const Expr &b) {
    return are_both_data(a, b) ? saturated(Halide::cast<int64_t>(a) - Halide::cast<int64_t>(b)) : a - b;
}

Expr bound_of_product(tag, const Expr &a, const Expr &b) {
    if (a.type().is_float()) return a * b;
    return saturated(Halide::cast<int64_t>(a) * Halide::cast<int64_t>(b));
}

Expr minimum(tag, const Expr &a, const Expr &b) { return unless_not_a_number(a, b, Halide::min(a, b)); }

Expr maximum(tag, const Expr &a, const Expr &b) { return unless_not_a_number(a, b, Halide::max(a, b)); }

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
// 1, fitted for the smallest relative error: 1.4e-7 before rounding, below 5e-7 with it. Exact at 0, never beyond +-1.
Expr tanh(tag, const Expr &a) {
    const float end = 7.90531110763549805f;
    const Expr x = Halide::clamp(a, -end, end);
    const Expr numerator = polynomial(x * x, {1.152634320e-5f, 2.959973094e-3f, 1.293395476e-1f, 9.999998685e-1f});
    const Expr denominator =
        polynomial(x * x, {2.490771114e-7f, 2.399408510e-4f, 2.385204547e-2f, 4.626718089e-1f, 1.0f});
    return Halide::select(is_not_a_number(a), a, x * numerator / denominator);
}

// Halide's versions of these make a number of NaN, and 0 of e^a where a is so large that the exponent leaves 32 bits.
// In vectors the logarithm of infinity is that of the largest float.
Expr exp(tag, const Expr &a) {
    const float largest = 88.7228f;  // e^a is finite up to here
    const Expr infinity = Halide::reinterpret<float>(Expr(infinity_bits));
    return Halide::select(is_not_a_number(a), a,
                          Halide::select(a > largest, infinity, Halide::exp(Halide::clamp(a, -200.0f, largest))));
}

Expr log(tag, const Expr &a) { return Halide::select(is_not_a_number(a), a, Halide::log(a)); }

namespace {

// sin(2 pi t) and cos(2 pi t) for |t| <= 1/8 turn, by Chebyshev interpolation in t^2; absolute error below 1e-7.
Expr sine_of_eighth(const Expr &t) {
    return t * polynomial(t * t,
                          {4.147289122e+01f, -7.669786816e+01f, 8.160520473e+01f, -4.134170215e+01f, 6.283185307e+00f});
}

Expr cosine_of_eighth(const Expr &t) {
    return polynomial(t * t, {-2.612225614e+01f, 6.024055762e+01f, -8.545679509e+01f, 6.493939398e+01f,
                              -1.973920880e+01f, 1.000000000e+00f});
}

// The fraction of a turn in [-1/2, 1/2].
Expr fraction_of_turn(const Expr &position, const Expr &turns) {
    const Expr all = Halide::cast<double>(position) * Halide::cast<double>(turns);
    return Halide::cast<float>(all - Halide::round(all));
}

// sin(2 pi (t + quarters / 4)): by the quarter turn that is nearest.
Expr sine_of_turn(const Expr &t, int quarters) {
    const Expr nearest = Halide::round(t * 4.0f);
    const Expr rest = t - nearest * 0.25f;
    const Expr quarter = (Halide::cast<int>(nearest) + quarters) & 3;
    const Expr magnitude = Halide::select((quarter & 1) == 0, sine_of_eighth(rest), cosine_of_eighth(rest));
    return Halide::select((quarter & 2) == 0, magnitude, -magnitude);
}

}  // namespace

Expr cos(tag, const Expr &a) { return Halide::cos(a); }

Expr sin(tag, const Expr &a) { return Halide::sin(a); }

Expr cos_of_turns(tag, const Expr &position, const Expr &turns) {
    return sine_of_turn(fraction_of_turn(position, turns), 1);
}

Expr sin_of_turns(tag, const Expr &position, const Expr &turns) {
    return sine_of_turn(fraction_of_turn(position, turns), 0);
}

Expr uniform_random(tag, const Expr &seed, const Expr &batch, const Expr &head, const Expr &row, const Expr &key) {
    const auto word = [](const Expr &a) { return Halide::cast<uint32_t>(a); };
    const auto words = detail::philox<Expr>(
        {word(key >> 2), word(row), word(head), word(batch)}, {word(seed), Expr(uint32_t(0))},
        [](const Expr &a, const Expr &b) { return Halide::cast<uint32_t>((Halide::cast<uint64_t>(a) * b) >> 32); });
    const Expr which = key & 3;
    const Expr chosen = Halide::select(which == 0, words[0], which == 1, words[1], which == 2, words[2], words[3]);
    return Halide::cast<float>(chosen >> 8) * 0x1p-24f;
}

namespace {

/// Whether a real number is made of positions and constants by operations that yield no NaN.
bool is_made_of_whole_numbers(const Expr &a) {
    using namespace Halide::Internal;
    const auto both = [](const Expr &x, const Expr &y) {
        return is_made_of_whole_numbers(x) && is_made_of_whole_numbers(y);
    };
    if (const auto *cast = a.as<Cast>()) return !cast->value.type().is_float();
    if (const auto *sum = a.as<Add>()) return both(sum->a, sum->b);
    if (const auto *difference = a.as<Sub>()) return both(difference->a, difference->b);
    if (const auto *product = a.as<Mul>()) return both(product->a, product->b);
    if (const auto *constant = a.as<FloatImm>()) return constant->value - constant->value == 0.0;  // finite
    return false;
}

/// Both operands are numbers. By bits: a strict comparison of the results of operations that LLVM takes to have no NaN
/// is no test for one.
Expr where_both_are_numbers(const Expr &a, const Expr &b, Expr comparison) {
    for (const Expr &operand : {a, b}) {
        if (!is_made_of_whole_numbers(operand)) comparison = comparison && !is_not_a_number(operand);
    }
    return comparison;
}

}  // namespace

// Comparisons of real numbers are false if one is NaN.
Expr is_less(tag, const Expr &a, const Expr &b) {
    return a.type().is_float() ? where_both_are_numbers(a, b, strict(Call::strict_lt, a, b)) : a < b;
}

Expr is_less_equal(tag, const Expr &a, const Expr &b) {
    // Not strict_le, which is compiled as the negation of b < a.
    return a.type().is_float()
               ? where_both_are_numbers(a, b, strict(Call::strict_lt, a, b) || strict(Call::strict_eq, a, b))
               : a <= b;
}

Expr is_equal(tag, const Expr &a, const Expr &b) {
    if (a.type().is_float()) return where_both_are_numbers(a, b, strict(Call::strict_eq, a, b));
    if (a.type() != Halide::Int(32)) return a == b;
    // Halide 21 solves equations between whole numbers for the variable of a loop, wrongly where both sides grow alike
    // in it: of 48 t + 1 == 48 t + u it makes t == 0. Of numbers without a sign it leaves them alone.
    return Halide::cast<uint32_t>(a) == Halide::cast<uint32_t>(b);
}

Expr to_real(tag, const Expr &a) { return Halide::cast<float>(a); }

Expr is_finite(tag, const Expr &a) {
    return a.type().is_float() ? magnitude_bits(a) < Expr(infinity_bits) : Halide::Internal::const_true();
}

Expr constant_like(tag, const Expr &like, std::int64_t value) {
    return Halide::Internal::make_const(like.type(), value);
}

}  // namespace heed::arithmetic
