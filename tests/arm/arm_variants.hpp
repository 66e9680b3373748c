// SPDX-License-Identifier: MIT
//
// A few variants that between them use most of what kernels are made of, small enough for an emulated processor.
#pragma once

#include <heed/heed.hpp>

namespace kernels {
using namespace heed;

inline constexpr auto capped_window =
    variant(heads = 4_c, groups = 2_c, head_dim = 64_c, mask = causal && (sliding_window(100_c) || first_tokens(4_c)),
            score_mod = softcap(score, 30.0), sink_logit = input<"sinks">[head]);

/// Tiles are skipped by what an input holds; rows are no whole number of vectors.
inline constexpr auto documents = variant(heads = 3_c, head_dim = 42_c, value_dim = 23_c,
                                          mask = causal && same(input<"document", i32>), score_mod = alibi(3_c));

inline constexpr auto rotated =
    variant(heads = 4_c, groups = 1_c, head_dim = 32_c, position = rope{10'000.0}, mask = causal);

}  // namespace kernels
