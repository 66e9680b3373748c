// SPDX-License-Identifier: MIT
//
// The one attention variant of the MiniLM encoder. The sentences of a batch are padded to the longest, so every
// sentence has a number of real keys of its own: the argument `kv_len` that `padded` brings along.
#pragma once

#include <heed/heed.hpp>

namespace minilm {
using namespace heed;

inline constexpr auto encoder_attention = variant(heads = 12_c, head_dim = 32_c, mask = padded);

}  // namespace minilm
