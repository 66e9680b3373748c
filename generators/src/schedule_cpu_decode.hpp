// SPDX-License-Identifier: MIT
//
// The schedule for few queries on a CPU, and the sizes that it wants on each instruction set.
#pragma once

#include "algorithm_decode.hpp"

namespace heed::generators {

/// More new tokens than this are a prompt: the runtime then takes the schedule for many queries.
int most_decoded_queries(const variant_source &variant);

decode_shape decode_shape_for(const variant_source &variant, const std::string &isa);

void schedule_cpu_decode(decode_attention &attention);

}  // namespace heed::generators
