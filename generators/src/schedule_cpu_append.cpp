// SPDX-License-Identifier: MIT
//
// A row at a time. The runtime shares out pages among threads, and a page is a small task: one token of 8 groups x 128
// takes about a microsecond.
#include "schedule_cpu_append.hpp"

#include <algorithm>

#include "schedule_rows.hpp"

namespace heed::generators {

using Halide::Func;
using Halide::TailStrategy;

void schedule_cpu_append(append_to_cache &a, int lanes) {
    for (append_to_cache::stored_rows *rows : {&a.keys, &a.values}) {
        const int width = std::min(lanes, rows->row_size);
        rows->elements.vectorize(a.dim, width, TailStrategy::GuardWithIf);
        if (rows->scale.defined()) {
            rows->modified.compute_root().vectorize(a.dim, width, TailStrategy::GuardWithIf);
            rows->largest.compute_root();
            if (rows->row_size % lanes == 0) rows->largest.update().atomic().vectorize(rows->dims, lanes);
        }
        for (Func mean : rows->parts.means) {
            mean.compute_root();
            sum_in_lanes(mean, rows->row_size, lanes);
        }
        for (Func table : rows->parts.position_tables) {
            table.compute_root().vectorize(table.args()[0], lanes, TailStrategy::GuardWithIf);
        }
    }
}

}  // namespace heed::generators
