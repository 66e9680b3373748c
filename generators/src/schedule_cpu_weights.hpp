// SPDX-License-Identifier: MIT
//
// The schedule of the weights pass on a CPU: one row of weights after another, in parallel over heads and queries.
#pragma once

#include "algorithm_weights.hpp"

namespace heed::generators {

/// `lanes`: floats in a vector.
void schedule_cpu_weights(attention_weights &attention, int lanes);

}  // namespace heed::generators
