// SPDX-License-Identifier: MIT
//
// How far a result is from the reference, relative to the largest value of the tensor.
#pragma once

#include "tensor.hpp"

#include <string>

namespace heed::tests {

struct difference {
    double largest = 0;  ///< relative; infinite where one is NaN or infinite and the other is not the same
    std::string where;
};

/// Relative to the largest finite |expected|, or to `unit` if that is larger.
difference compare(const tensor<float, 4> &actual, const tensor<double, 4> &expected, double unit);
difference compare(const tensor<float, 3> &actual, const tensor<double, 3> &expected, double unit);

}  // namespace heed::tests
