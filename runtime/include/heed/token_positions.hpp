// SPDX-License-Identifier: MIT
//
// Absolute positions, which belong to the tokens: they are added before queries, keys and values are projected, so no
// variant of attention declares them.
#pragma once

#include <heed/error.hpp>
#include <heed/view.hpp>

#include <cstdint>

namespace heed {

/// output = tokens + table, row by row: token i of each sequence gets row `first_position + i` of the learned table.
/// Tokens and output are (batch, length, dim), the table is (positions, dim); rows are contiguous, other strides free.
/// `output` may be `tokens`. Throws a heed::error if shapes disagree or the table is too short; nothing is written
/// then.
void add_learned_positions(const view<const float, 3> &tokens, const view<const float, 2> &table,
                           const view<float, 3> &output, std::int64_t first_position = 0);

/// The same with sin(p / theta^(2 i / dim)) added to element 2 i of the token at position p and the cosine to element
/// 2 i + 1 (Vaswani et al. 2017, section 3.5).
void add_sinusoidal_positions(const view<const float, 3> &tokens, const view<float, 3> &output,
                              std::int64_t first_position = 0, double theta = 10'000);

}  // namespace heed
