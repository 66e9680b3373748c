// SPDX-License-Identifier: MIT
//
// Where the parts of a picture are.
#pragma once

#include <heed/inspect.hpp>

#include <cstdint>

namespace heed::inspect {

/// Rows and columns as squares of `cell` pixels, each for `pool` x `pool` numbers. `step`: every how many squares a
/// label fits.
struct grid_size {
    std::int64_t cell, pool, rows, columns, step;
};

/// The picture of one grid: (left, top) is its corner, labels are left of it and above.
struct picture_layout {
    std::int64_t width, height, left, top;
    grid_size grid;
};

picture_layout heat_map_layout(const attention &of, std::int64_t head, const picture_options &how);

}  // namespace heed::inspect
