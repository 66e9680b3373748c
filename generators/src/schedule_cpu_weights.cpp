// SPDX-License-Identifier: MIT
//
// Meant for looking at: a row is computed key by key, so that it takes no more than its own memory. MHA 8 x 64 at 1024
// tokens takes about twice the time of the forward kernel, most of it to write the matrix and add up lanes.
#include "schedule_cpu_weights.hpp"

namespace heed::generators {

using Halide::Func;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

void schedule_cpu_weights(attention_weights &a, int lanes) {
    Var task("task");
    for (Func result : {a.weights, a.log_sum_exp}) {
        result.parallel(a.position).parallel(a.group).parallel(a.batch);
    }
    a.weights.reorder(a.kv, a.head_in_group, a.position, a.group, a.batch)
        .vectorize(a.kv, lanes, TailStrategy::GuardWithIf);
    a.log_sum_exp.compute_with(a.weights, a.head_in_group);

    // Several sums at a time: faster, and fewer roundings in each.
    int sums = lanes;
    for (const int more : {2, 4}) {
        if (a.variant.head_dim % (more * lanes) == 0) sums = more * lanes;
    }
    a.query_row.compute_at(a.weights, a.head_in_group).vectorize(a.dim, lanes, TailStrategy::GuardWithIf);
    a.score.compute_at(a.weights, a.head_in_group);
    a.product.compute_at(a.score, a.kv);
    if (a.variant.head_dim % sums == 0) a.product.update().atomic().vectorize(a.head_dims.x, sums);
    a.row_max.compute_at(a.weights, a.head_in_group);
    a.plain_weight.compute_at(a.weights, a.head_in_group).vectorize(a.kv, lanes, TailStrategy::GuardWithIf);
    a.row_sum.compute_at(a.weights, a.head_in_group);
    for (Func mean : a.of_queries.means) mean.compute_at(a.weights, a.head_in_group);
    if (!a.variant.key_stages.empty()) {
        a.key_row.compute_at(a.weights, a.group).vectorize(a.dim, lanes, TailStrategy::GuardWithIf);
        for (Func mean : a.of_keys.means) mean.compute_at(a.key_row, a.kv);
    }
}

}  // namespace heed::generators
