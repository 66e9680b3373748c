// SPDX-License-Identifier: MIT
#include "schedule_cpu_prefill.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace heed::generators {

using Halide::Func;
using Halide::Partition;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Target;
using Halide::Var;

const std::vector<std::string> &prefill_isas() {
    static const std::vector<std::string> names{"avx512", "avx2", "x86_64"};
    return names;
}

std::string prefill_isa(const Target &target) {
    if (target.arch == Target::X86 && target.bits == 64) {
        if (target.has_feature(Target::AVX512_Skylake)) return "avx512";
        if (target.has_feature(Target::AVX2) && target.has_feature(Target::FMA)) return "avx2";
        return "x86_64";
    }
    throw std::invalid_argument("no schedule for target '" + target.to_string() +
                                "': Heed has kernels for x86-64, with avx512_skylake, with avx2-fma, or with neither");
}

prefill_tiles prefill_tiles_for(const variant_source &variant, const std::string &isa) {
    // Accumulators of the register tile, plus operands, fill the vector registers: 32 with AVX-512, else 16. The tile of
    // scores and its weights stay in the first-level cache or just above it.
    prefill_tiles tiles;
    if (isa == "avx512") {
        tiles = {{.rows = 64, .keys = 128, .columns = 4, .heads_per_tile = 1}, {.lanes = 16, .query_vectors = 4, .keys = 4}};
    } else if (isa == "avx2") {
        tiles = {{.rows = 48, .keys = 128, .columns = 4, .heads_per_tile = 1}, {.lanes = 8, .query_vectors = 3, .keys = 4}};
    } else {
        tiles = {{.rows = 48, .keys = 128, .columns = 4, .heads_per_tile = 1}, {.lanes = 4, .query_vectors = 3, .keys = 4}};
    }
    tiles.tile.heads_per_tile = std::gcd(tiles.tile.rows, variant.heads / variant.groups);
    return tiles;
}

void schedule_cpu_prefill(softmax_attention &a, const register_tile &registers) {
    const int lanes = registers.lanes;
    const int register_rows = lanes * registers.query_vectors;
    const int head_dim = a.variant.head_dim, value_dim = a.variant.value_dim;
    const int positions = a.tile.rows / a.tile.heads_per_tile;

    const auto one_tile = [&](Func f) {
        return f.bound_extent(a.query_block, 1).bound_extent(a.head_block, 1).bound_extent(a.key_block, 1);
    };

    Var task("task"), query_block("qb"), head_block("hb"), row_outer("row_outer"), key_outer("key_outer"), column_outer("column_outer");

    // One task is one tile of queries of one group of heads; both results of a task come from one state.
    for (Func result : {a.output, a.log_sum_exp}) {
        result.split(a.position, query_block, a.position, positions, TailStrategy::GuardWithIf)
            .split(a.head_in_group, head_block, a.head_in_group, a.tile.heads_per_tile);
    }
    a.output.reorder(a.dim, a.head_in_group, a.position, query_block, head_block, a.group, a.batch);
    a.log_sum_exp.reorder(a.head_in_group, a.position, query_block, head_block, a.group, a.batch);
    for (Func result : {a.output, a.log_sum_exp}) {
        result.rename(query_block, task).parallel(task).partition(task, Partition::Never);
        result.parallel(head_block).parallel(a.group).parallel(a.batch);
    }
    a.output.vectorize(a.dim, std::min(lanes, value_dim), TailStrategy::GuardWithIf);
    a.log_sum_exp.compute_with(a.output, task);

    for (Func f : {a.query_tile, a.state, a.normaliser, a.log_of_total}) {
        f.compute_at(a.output, task).bound_extent(a.row, a.tile.rows).bound_extent(a.query_block, 1).bound_extent(a.head_block, 1);
    }
    a.state.vectorize(a.row, lanes);
    a.normaliser.vectorize(a.row, lanes);
    a.log_of_total.vectorize(a.row, lanes);
    a.query_tile.bound_extent(a.dim, head_dim).vectorize(a.row, lanes);

    RVar slot(a.steps.x), step(a.steps.y), slot_outer("slot_outer");
    a.state.update()
        .split(slot, slot_outer, slot, a.tile.columns)
        .split(a.row, row_outer, a.row, register_rows)
        .reorder(a.row, slot, row_outer, slot_outer, step)
        .vectorize(a.row, lanes)
        .unroll(a.row)
        .unroll(slot)
        .partition(step, Partition::Never)
        .partition(slot_outer, Partition::Always);

    a.score.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).bound_storage(a.key_in_tile, a.tile.keys + 16)
        .tile(a.row, a.key_in_tile, row_outer, key_outer, a.row, a.key_in_tile, register_rows, registers.keys, TailStrategy::RoundUp)
        .reorder(a.row, a.key_in_tile, row_outer, key_outer)
        .vectorize(a.row, lanes).unroll(a.row).unroll(a.key_in_tile)
        .partition(key_outer, Partition::Never).partition(row_outer, Partition::Never);
    a.score.update().vectorize(a.row, lanes);
    a.product.compute_at(a.score, row_outer).vectorize(a.row, lanes).unroll(a.row).unroll(a.key_in_tile);
    a.product.update().reorder(a.row, a.key_in_tile, a.head_dims).vectorize(a.row, lanes).unroll(a.row).unroll(a.key_in_tile);

    a.block_max.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).vectorize(a.row, lanes);
    a.block_max.update().split(a.row, row_outer, a.row, register_rows).reorder(a.row, a.keys_to_compare, row_outer).vectorize(a.row, lanes).unroll(a.row);
    a.weight.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).bound_storage(a.key_in_tile, a.tile.keys+16).split(a.row, row_outer, a.row, lanes).reorder(a.row, a.key_in_tile, row_outer).vectorize(a.row, lanes).unroll(a.key_in_tile, 4, TailStrategy::RoundUp);
    a.block_sum.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).vectorize(a.row, lanes);
    a.block_sum.update().split(a.row, row_outer, a.row, register_rows).reorder(a.row, a.keys_to_add, row_outer).vectorize(a.row, lanes).unroll(a.row);

    RVar value_lane("value_lane"), value_outer("value_outer");
    Var lane("lane");
    a.value_bits.compute_at(a.state, step);
    Func lane_bits = a.value_bits.update().split(a.value_elements.x, value_outer, value_lane, lanes).rfactor(value_lane, lane);
    lane_bits.compute_at(a.value_bits, a.key_block).vectorize(lane, lanes).update().vectorize(lane, lanes);
    for (Func f : {a.weighted_values, a.exposed_values}) {
        one_tile(f.compute_at(a.state, row_outer)).bound_extent(a.row, register_rows).bound_extent(a.dim, a.tile.columns);
    }
    a.weighted_values.vectorize(a.row, lanes).unroll(a.row).unroll(a.dim);
    a.weighted_values.update().reorder(a.row, a.dim, a.keys_to_weigh).vectorize(a.row, lanes).unroll(a.row).unroll(a.dim);
    a.exposed_values.vectorize(a.row, lanes).unroll(a.row).unroll(a.dim);
    a.exposed_values.update().reorder(a.row, a.dim, a.keys_to_weigh_singly).vectorize(a.row, lanes).unroll(a.row).unroll(a.dim);

    for (Func f : {a.score, a.block_max, a.weight, a.block_sum, a.value_bits}) one_tile(f);
}

}  // namespace heed::generators
