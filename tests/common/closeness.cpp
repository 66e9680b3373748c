// SPDX-License-Identifier: MIT
#include "closeness.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace heed::tests {

namespace {

template <int Rank>
difference compare_elements(const tensor<float, Rank> &actual, const tensor<double, Rank> &expected, double unit) {
    for_each_index<Rank>(expected.extents(), [&](const auto &index) {
        if (std::isfinite(expected[index])) unit = std::max(unit, std::fabs(expected[index]));
    });
    difference result;
    for_each_index<Rank>(expected.extents(), [&](const auto &index) {
        const double is = actual[index], should_be = expected[index];
        double error = std::fabs(is - should_be) / unit;
        if (is == should_be || (std::isnan(is) && std::isnan(should_be))) error = 0;
        if (std::isnan(error)) error = INFINITY;
        if (error <= result.largest) return;
        std::ostringstream text;
        text << "element (";
        for (int d = 0; d < Rank; ++d) text << (d == 0 ? "" : ", ") << index[d];
        text << ") is " << is << ", should be " << should_be;
        result = {error, text.str()};
    });
    return result;
}

}  // namespace

difference compare(const tensor<float, 4> &actual, const tensor<double, 4> &expected, double unit) {
    return compare_elements(actual, expected, unit);
}

difference compare(const tensor<float, 3> &actual, const tensor<double, 3> &expected, double unit) {
    return compare_elements(actual, expected, unit);
}

}  // namespace heed::tests
