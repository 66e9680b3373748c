// SPDX-License-Identifier: MIT
//
// Variants under test that are compiled for other storage types than f32.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

inline constexpr auto stored =
    variant(heads = 4_c, groups = 2_c, head_dim = 12_c, value_dim = 9_c, mask = causal && sliding_window(40_c));
inline constexpr auto stored_128 = variant(heads = 2_c, groups = 1_c, head_dim = 128_c);
inline constexpr auto stored_holes = variant(heads = 2_c, head_dim = 4_c, mask = kv_pos % 7 != 3);
inline constexpr auto stored_changed =
    variant(heads = 2_c, groups = 1_c, head_dim = 8_c, mask = causal, position = rope{}, query_mod = rms_norm(query),
            value_mod = value * 2.0 + 1.0, output_mod = output * input<"gate">(head, dim));

}  // namespace kernels
