// SPDX-License-Identifier: MIT
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

/// Elements of two bytes, which not every device knows.
inline constexpr auto stored = variant(heads = 2_c, groups = 1_c, head_dim = 12_c, mask = causal);

}  // namespace kernels
