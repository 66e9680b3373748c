// SPDX-License-Identifier: MIT
//
// What schedules have in common: the Funcs that modifications of rows need.
#pragma once

#include <Halide.h>

#include "attention_algorithm.hpp"

namespace heed::generators {

/// A mean over a row, added up in vectors where they divide it.
void sum_in_lanes(Halide::Func mean, int row_size, int lanes);

/// Tables over the positions of a call, once before all else.
void schedule_position_tables(forward_attention &attention, int lanes);

}  // namespace heed::generators
