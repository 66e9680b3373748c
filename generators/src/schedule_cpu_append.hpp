// SPDX-License-Identifier: MIT
//
// The schedule of rows on their way into a cache, on a CPU.
#pragma once

#include "algorithm_append.hpp"

namespace heed::generators {

void schedule_cpu_append(append_to_cache &append, int lanes);

}  // namespace heed::generators
