// SPDX-License-Identifier: MIT
//
// Poison: NaN and infinity in keys and values, to show that a masked key contributes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem.hpp"

namespace heed::runner {

/// Fills the key and the value of every position that no query of its group sees with NaN or inf, in turns. Returns how
/// many there were.
std::int64_t poison_unseen(const problem &of);

/// One key per (batch, group) that some rows see and others do not; no value where there is none. In the order of
/// batch * groups + group.
std::vector<std::optional<std::int64_t>> partly_seen_keys(const problem &of, std::uint64_t seed);

/// Fills one key and its value with NaN.
void poison_key(const problem &of, std::int64_t batch, std::int64_t group, std::int64_t key);

}  // namespace heed::runner
