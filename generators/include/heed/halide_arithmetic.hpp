// SPDX-License-Identifier: MIT
//
// The functions of heed/arithmetic.hpp for Halide expressions: with them every value and range rule of the language is
// also its lowering. Positions are 32-bit whole numbers, real numbers 32-bit floating point.
#pragma once

#include <Halide.h>
#include <heed/arithmetic.hpp>

#include <cstdint>

namespace heed::arithmetic {

Halide::Expr absolute(tag, const Halide::Expr &a);
Halide::Expr quotient(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr bound_of_sum(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr bound_of_difference(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr bound_of_product(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr minimum(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr maximum(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr choose(tag, const Halide::Expr &condition, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr exp(tag, const Halide::Expr &a);
Halide::Expr log(tag, const Halide::Expr &a);
Halide::Expr floor_divide(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr floor_modulo(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr tanh(tag, const Halide::Expr &a);
Halide::Expr cos(tag, const Halide::Expr &a);
Halide::Expr sin(tag, const Halide::Expr &a);
Halide::Expr cos_of_turns(tag, const Halide::Expr &position, const Halide::Expr &turns);
Halide::Expr sin_of_turns(tag, const Halide::Expr &position, const Halide::Expr &turns);
Halide::Expr uniform_random(tag, const Halide::Expr &seed, const Halide::Expr &batch, const Halide::Expr &head,
                            const Halide::Expr &row, const Halide::Expr &key);
Halide::Expr is_less(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr is_less_equal(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr is_equal(tag, const Halide::Expr &a, const Halide::Expr &b);
Halide::Expr to_real(tag, const Halide::Expr &a);
Halide::Expr is_finite(tag, const Halide::Expr &a);
Halide::Expr constant_like(tag, const Halide::Expr &like, std::int64_t value);

}  // namespace heed::arithmetic
