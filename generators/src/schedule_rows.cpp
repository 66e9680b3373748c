// SPDX-License-Identifier: MIT
#include "schedule_rows.hpp"

namespace heed::generators {

using Halide::Func;
using Halide::TailStrategy;
using Halide::Var;

void sum_in_lanes(Func mean, int row_size, int lanes) {
    if (row_size % lanes != 0) return;
    mean.update().atomic().vectorize(mean.rvars(0)[0], lanes);
}

void schedule_position_tables(forward_attention &attention, int lanes) {
    for (const row_parts *parts : {&attention.of_queries, &attention.of_keys, &attention.of_values}) {
        for (Func table : parts->position_tables) {
            const Var index = table.args()[0], position = table.args()[1];
            Var some("some");
            table.compute_root()
                .split(position, some, position, 64, TailStrategy::GuardWithIf)
                .parallel(some)
                .vectorize(index, lanes, TailStrategy::GuardWithIf);
        }
    }
}

}  // namespace heed::generators
