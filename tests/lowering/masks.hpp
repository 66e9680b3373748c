// SPDX-License-Identifier: MIT
//
// Conditions whose readings are compared, and those readings.
#pragma once

#include "samples.hpp"

#include <heed/range.hpp>

#include <functional>
#include <string>
#include <vector>

namespace heed::tests {

struct mask_case {
    std::string name;
    generators::variant_source source;  ///< the Halide readings
    std::function<bool(const token_pair &, const looked_up &)> attends;
    std::function<truth<bool>(const pair_tile &, const looked_up &)> truth_of_tile;
};

const std::vector<mask_case> &mask_cases();

}  // namespace heed::tests
