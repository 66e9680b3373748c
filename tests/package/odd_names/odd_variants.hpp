// SPDX-License-Identifier: MIT
#pragma once

#include <heed/heed.hpp>

namespace app::heed {
using namespace ::heed;

inline constexpr auto view_inputs = ::heed::variant(heads = 1_c, head_dim = 4_c);
inline constexpr auto view = ::heed::variant(heads = 1_c, head_dim = 4_c, score_mod = score + input<"float16">[kv_pos]);

}  // namespace app::heed
