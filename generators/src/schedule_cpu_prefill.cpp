// SPDX-License-Identifier: MIT
#include "schedule_cpu_prefill.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "schedule_rows.hpp"

namespace heed::generators {

using Halide::Func;
using Halide::Partition;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Target;
using Halide::Var;

const std::vector<std::string> &prefill_isas() {
    static const std::vector<std::string> names{"avx512", "avx2", "x86_64", "neon"};
    return names;
}

std::string prefill_isa(const Target &target) {
    // A kernel may use no feature that the runtime does not ask the processor for: see heed/isa.hpp.
    if (target == Target("x86-64-linux-avx512_skylake")) return "avx512";
    if (target == Target("x86-64-linux-avx2-fma-f16c") || target == Target("x86-64-linux-avx2-fma")) return "avx2";
    if (target == Target("x86-64-linux")) return "x86_64";
    if (target == Target("arm-64-linux")) return "neon";
    throw std::invalid_argument("no schedule for target '" + target.to_string() +
                                "'; known: x86-64-linux-avx512_skylake, x86-64-linux-avx2-fma-f16c, "
                                "x86-64-linux-avx2-fma, x86-64-linux, arm-64-linux");
}

prefill_tiles prefill_tiles_for(const variant_source &variant, const std::string &isa, const storage_types &types) {
    // Accumulators of a register tile, with their operands, fill the vector registers: 32 with AVX-512, else 16. Scores
    // and weights of a tile stay in the first cache or just above it. Where a mask leaves few keys to each tile,
    // narrower tiles reach over fewer keys that most of their rows do not see. Dense, 8 heads x 64, 4096 tokens, one
    // thread of a Zen 5 core, share of the FMA peak: AVX-512 84 %, AVX2 86 %; with narrow tiles 82 % and 79 %. A window
    // of 256 took 14.1 ms with the wide AVX-512 tile, takes 13.3 ms with the narrow one.
    // Documents of 512 in 4096 tokens, causal, one thread of a Zen 4 core: 27.7 ms with narrow tiles, 29.6 ms with wide
    // ones; there narrow tiles of 128 keys take as long as wide ones for causal masks, too.
    // NEON has 32 registers as well, and was not measured: 24 of the 34 instructions of its inner loop are FMAs.
    const bool is_window = reachable_keys_are_bounded_below(variant);
    const bool narrow = is_window || !range_tables_of(variant, true).empty();
    prefill_tiles tiles;
    if (isa == "avx512") {
        tiles.registers = {.lanes = 16, .query_vectors = narrow ? 2 : 4};
        tiles.tile.rows = narrow ? 32 : 64;
        tiles.tile.keys = is_window ? 96 : 128;
        tiles.tile.keys_together = tiles.tile.columns = narrow ? 8 : 4;
    } else {
        tiles.registers = {.lanes = isa == "avx2" ? 8 : 4, .query_vectors = isa == "neon" ? 6 : 3};
        // What is done to keys and values as they are loaded is shared by all rows of a tile.
        tiles.tile.rows = keys_are_plain(variant, types) && values_are_plain(variant, types) ? 48 : 96;
        tiles.tile.keys = 128;
        tiles.tile.keys_together = tiles.tile.columns = 4;
    }
    tiles.tile.rows_together = 8;
    tiles.tile.heads_per_tile = std::gcd(tiles.tile.rows, variant.heads / variant.groups);
    return tiles;
}

void schedule_cpu_prefill(softmax_attention &a, const register_tile &registers) {
    const int lanes = registers.lanes;
    const int register_rows = lanes * registers.query_vectors;
    const int head_dim = a.variant.head_dim, value_dim = a.variant.value_dim;
    // Halide counts the key behind the last one as read where no key of a tile is reachable.
    const int key_storage = a.tile.keys + a.tile.keys_together;
    const int positions = a.tile.rows / a.tile.heads_per_tile;

    const auto one_task = [&](Func f) { return f.bound_extent(a.query_block, 1).bound_extent(a.head_block, 1); };
    const auto one_tile = [&](Func f) { return one_task(f).bound_extent(a.key_block, 1); };

    Var task("task"), query_block("qb"), head_block("hb"), row_outer("row_outer");

    // The elements of a row, vector by vector without a loop, so that each knows which part of the row it is.
    const auto unroll_row = [&](Func f, int row_size) {
        Var vector("vector");
        const int width = std::min(lanes, row_size);
        f.split(a.dim, vector, a.dim, width, TailStrategy::GuardWithIf).vectorize(a.dim);
        if (row_size <= 16 * lanes) f.bound_extent(a.dim, row_size).unroll(vector);
    };

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
        one_task(f.compute_at(a.output, task)).bound_extent(a.row, a.tile.rows);
    }
    a.state.vectorize(a.row, lanes);
    a.normaliser.vectorize(a.row, lanes);
    a.log_of_total.vectorize(a.row, lanes);
    a.query_tile.bound_extent(a.dim, head_dim).vectorize(a.row, lanes);
    a.query_tile.update()
        .reorder(a.rows_to_read.x, a.dim, a.rows_to_read.y)
        .allow_race_conditions()
        .vectorize(a.rows_to_read.x, a.tile.rows_together);
    // Along the rows as they lie in memory; transposing from there would wait for memory at every step.
    one_task(a.query_rows.compute_at(a.query_tile, a.rows_to_read.y))
        .vectorize(a.dim, std::min(lanes, head_dim), TailStrategy::GuardWithIf);

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

    a.score.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).bound_storage(a.key_in_tile, key_storage);
    a.score.update(0)
        .split(a.row, row_outer, a.row, register_rows)
        .reorder(a.row, a.keys_to_score.x, row_outer, a.keys_to_score.y)
        .vectorize(a.row, lanes)
        .unroll(a.row)
        .unroll(a.keys_to_score.x)
        .partition(row_outer, Partition::Never)
        .partition(a.keys_to_score.y, Partition::Never);
    a.score.update(1).vectorize(a.row, lanes);
    const auto in_registers = [&](Func f) {
        one_tile(f).bound_extent(a.key_in_group, a.tile.keys_together).bound_extent(a.key_group, 1);
        for (Halide::Stage stage : {Halide::Stage(f), Halide::Stage(f.update())}) {
            stage.vectorize(a.row, lanes).unroll(a.row).unroll(a.key_in_group);
        }
    };
    one_tile(a.values_asked_for.compute_at(a.score, a.keys_to_score.y)).bound_extent(a.key_group, 1);
    a.product.compute_at(a.score, row_outer);
    if (a.partial_product.defined()) {
        a.product.update().reorder(a.row, a.key_in_group, a.head_parts);
        a.partial_product.compute_at(a.product, a.head_parts).bound_extent(a.head_part, 1);
        a.partial_product.update().reorder(a.row, a.key_in_group, a.head_dims);
        in_registers(a.partial_product);
    } else {
        a.product.update().reorder(a.row, a.key_in_group, a.head_dims);
    }
    in_registers(a.product);

    a.block_max.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).vectorize(a.row, lanes);
    if (a.block_max.has_update_definition()) {
        a.block_max.update()
            .split(a.row, row_outer, a.row, register_rows)
            .reorder(a.row, a.keys_to_compare, row_outer)
            .vectorize(a.row, lanes)
            .unroll(a.row);
    }
    for (Func weight : {a.weight, a.applied_weight}) {
        if (!weight.defined()) continue;
        weight.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).bound_storage(a.key_in_tile, key_storage);
        weight.update()
            .split(a.row, row_outer, a.row, lanes)
            .reorder(a.row, a.keys_to_exponentiate.x, a.keys_to_exponentiate.y, row_outer)
            .vectorize(a.row, lanes)
            .unroll(a.keys_to_exponentiate.x);
        one_tile(weight);
    }
    a.block_sum.compute_at(a.state, step).bound_extent(a.row, a.tile.rows).vectorize(a.row, lanes);
    a.block_sum.update()
        .split(a.row, row_outer, a.row, register_rows)
        .reorder(a.row, a.keys_to_add, row_outer)
        .vectorize(a.row, lanes)
        .unroll(a.row);

    RVar value_lane("value_lane"), value_outer("value_outer");
    Var lane("lane");
    // Once for all tiles of queries: reads V once more, in one thread per group, where the mask is not plain.
    if (a.value_is_plain) {
        a.value_bits.compute_at(a.output, a.group);
    } else {
        one_tile(a.value_bits.compute_at(a.state, step));
    }
    Func lane_bits =
        a.value_bits.update().split(a.value_elements.x, value_outer, value_lane, lanes).rfactor(value_lane, lane);
    lane_bits.compute_at(a.value_bits, a.key_block).vectorize(lane, lanes).update().vectorize(lane, lanes);
    for (Func f : {a.weighted_values, a.exposed_values}) {
        one_tile(f.compute_at(a.state, row_outer))
            .bound_extent(a.row, register_rows)
            .bound_extent(a.dim, a.tile.columns);
    }
    a.weighted_values.vectorize(a.row, lanes).unroll(a.row).unroll(a.dim);
    a.weighted_values.update()
        .reorder(a.row, a.dim, a.keys_to_weigh)
        .vectorize(a.row, lanes)
        .unroll(a.row)
        .unroll(a.dim);
    a.exposed_values.vectorize(a.row, lanes).unroll(a.row).unroll(a.dim);
    a.exposed_values.update()
        .reorder(a.row, a.dim, a.keys_to_weigh_singly)
        .vectorize(a.row, lanes)
        .unroll(a.row)
        .unroll(a.dim);

    for (Func f : {a.score, a.block_max, a.block_sum}) one_tile(f);

    // Rows of keys and values that are not used as they lie in memory, once for each tile.
    const auto keep_tile = [&](Func tile, const std::vector<Func> &means, int row_size) {
        if (!tile.defined()) return;
        one_tile(tile);
        unroll_row(tile, row_size);
        for (Func mean : means) {
            one_tile(mean.compute_at(tile, a.key_in_tile));
            sum_in_lanes(mean, row_size, lanes);
        }
    };
    // Keys are needed a few at a time; so many stay in the first cache.
    if (!a.key_is_plain) a.key_tile.compute_at(a.score, a.keys_to_score.y);
    if (!a.value_is_plain) a.value_tile.compute_at(a.state, step).bound_storage(a.key_in_tile, key_storage);
    keep_tile(a.key_tile, a.of_keys.means, head_dim);
    keep_tile(a.value_tile, a.of_values.means, value_dim);
    for (Func mean : a.of_queries.means) {
        one_task(mean.compute_at(a.query_tile, a.rows_to_read.y));
        sum_in_lanes(mean, head_dim, lanes);
    }
    for (Func mean : a.of_outputs.means) mean.compute_at(a.output, a.position);
    schedule_position_tables(a, lanes);
}

}  // namespace heed::generators
