// SPDX-License-Identifier: MIT
#include "schedule_cpu_decode.hpp"

#include <algorithm>

#include "schedule_rows.hpp"
#include "whole_numbers.hpp"

namespace heed::generators {

using Halide::Func;
using Halide::Partition;
using Halide::TailStrategy;
using Halide::Var;

namespace {

/// The largest power of two that is at most `limit`.
int power_of_two_below(int limit) {
    int power = 1;
    while (2 * power <= limit) power *= 2;
    return power;
}

}  // namespace

// The time for a group grows with its rows, that of the other schedule with tiles of them. 8192 keys, two threads of a
// Zen 4 core: with 4 rows for each query both take as long at 10 to 12 queries (avx512: 14.3 and 14.4 ms at 12, avx2:
// 10.9 and 11.7 ms at 8, 15.4 and 11.8 at 12), with one row at 24 (52 and 56 ms, 49 and 45 ms), with 64 rows at 1.
int most_decoded_queries(const variant_source &variant) {
    return std::clamp(40 / (variant.heads / variant.groups), 1, 24);
}

// Of the bandwidth at which one thread reads from memory, one query, 32 heads, 8192 keys in f32: on Zen 4 (EPYC) with
// 8 groups x 128 71 % with AVX-512 and 70 % with AVX2, with a group for each head 66 %; in f16 49 % and 74 %. That
// memory is read in order makes the most of it: with two rows of keys in turn, or half rows of values, the processor's
// own reading ahead stays behind (30 %). Lines that are asked for help it no further (without: 75 %), and hinder it
// where they come in bursts or, of values, into the first cache. An Emerald Rapids core (Xeon) needs them, each line by
// itself, 8 KB ahead: 84 to 88 % (AVX-512) and 75 to 80 % (AVX2) with 8 groups, 92 % with a group for each head, 72 %
// in f16; 67 % without those of values, 76 % without those of keys or with every other line, 83 % at 4 KB.
decode_shape decode_shape_for(const variant_source &variant, const std::string &isa) {
    const int lanes = isa == "avx512" ? 16 : isa == "avx2" ? 8 : 4;
    const int heads = variant.heads / variant.groups, row_tiles = (heads + 7) / 8;
    decode_shape shape;
    shape.lanes = power_of_two_below(std::min(lanes, variant.head_dim));
    shape.value_lanes = power_of_two_below(std::min(lanes, variant.value_dim));
    shape.rows_together = (heads + row_tiles - 1) / row_tiles;
    shape.keys = 512;
    shape.keys_together = power_of_two_below(std::clamp(16 / shape.rows_together, 1, std::min(lanes / 2, 8)));
    shape.scores_together = lanes;
    const int value_vectors = (variant.value_dim + shape.value_lanes - 1) / shape.value_lanes;
    const int accumulators = isa == "avx512" || isa == "neon" ? 16 : 8;
    shape.columns_together = largest_divisor(value_vectors, accumulators);
    shape.rows_weighed = largest_divisor(shape.rows_together, accumulators / shape.columns_together);
    shape.values_together = power_of_two_below(2 * shape.rows_together / shape.rows_weighed);
    shape.bytes_ahead = 8192;
    return shape;
}

void schedule_cpu_decode(decode_attention &a) {
    const decode_shape &shape = a.shape;
    const int lanes = shape.lanes, value_lanes = shape.value_lanes, rows = shape.rows_together;

    // Both results of a group come from one merge of its chunks.
    a.output.reorder(a.dim, a.head_in_group, a.position, a.group, a.batch)
        .parallel(a.group)
        .parallel(a.batch)
        .vectorize(a.dim, value_lanes, TailStrategy::GuardWithIf);
    a.log_sum_exp.reorder(a.head_in_group, a.position, a.group, a.batch).parallel(a.group).parallel(a.batch);
    a.log_sum_exp.compute_with(a.output, a.group);
    for (Func f : {a.row_max, a.row_sum, a.merged, a.normaliser, a.log_of_total}) {
        f.compute_at(a.output, a.group).bound(a.row, 0, rows);
    }
    a.merged.bound(a.lane, 0, value_lanes).bound(a.vector, 0, a.value_vectors()).vectorize(a.lane);
    a.merged.update().reorder(a.lane, a.vector, a.row, a.row_tile, a.chunks_to_merge).vectorize(a.lane);
    a.chunk_weight.compute_at(a.merged, a.chunks_to_merge.x).bound(a.row, 0, rows);

    a.query_rows.compute_root().bound(a.row, 0, rows).vectorize(a.dim, lanes, TailStrategy::GuardWithIf);

    // One task is a chunk of the keys of one group.
    const Halide::RVar chunk = a.chunks_to_attend.x;
    a.partial.compute_root()
        .bound(a.lane, 0, value_lanes)
        .bound(a.vector, 0, a.value_vectors() + 2)
        .bound(a.row, 0, rows);
    Halide::Stage each_chunk = a.partial.update();
    each_chunk.reorder(a.lane, a.vector, a.row, a.row_tile, chunk, a.group, a.batch)
        .parallel(chunk)
        .partition(chunk, Partition::Never)
        .parallel(a.group)
        .parallel(a.batch)
        .vectorize(a.lane);
    if (a.value_vectors() <= 16) each_chunk.unroll(a.vector);
    for (Func f : {a.score, a.attends, a.chunk_max, a.weight, a.chunk_sum, a.applied_weight, a.weighted_values}) {
        if (f.defined()) f.compute_at(a.partial, chunk).bound(a.row, 0, rows).bound_extent(a.chunk, 1);
    }
    for (Func f : {a.token_in_page, a.page, a.key_start, a.value_start}) {
        if (f.defined()) f.compute_at(a.partial, chunk).vectorize(a.kv_pos, lanes, TailStrategy::GuardWithIf);
    }
    for (Func f : {a.key_factor, a.value_factor}) {
        if (f.defined()) f.compute_at(a.partial, chunk).bound_extent(a.chunk, 1);
    }
    for (Func f : {a.score, a.attends, a.weight, a.applied_weight}) {
        if (f.defined()) f.bound_storage(a.key_in_chunk, shape.keys);
    }

    // Updates by key write each place once.
    a.score.update(0)
        .allow_race_conditions()
        .reorder(a.keys_to_score.x, a.row, a.row_tile, a.keys_to_score.y)
        .vectorize(a.keys_to_score.x)
        .unroll(a.row)
        .partition(a.keys_to_score.y, Partition::Never);
    // A loop over row tiles within would let LLVM take the reading of keys out of it, in front of the products.
    const bool tiles_outside = a.key_is_plain;
    if (tiles_outside) a.score.update(0).reorder(a.keys_to_score.y, a.row_tile);
    for (Func f : {a.lane_products, a.product}) {
        f.compute_at(Halide::LoopLevel(a.score, tiles_outside ? Halide::VarOrRVar(a.keys_to_score.y) : a.row_tile))
            .bound_extent(a.key_in_group, shape.keys_together)
            .bound_extent(a.key_group, 1)
            .bound_extent(a.row_tile, 1)
            .bound_extent(a.row, rows);
    }
    // All sums at once take a third of the instructions of sums one by one.
    a.product.vectorize(a.key_in_group).vectorize(a.row);
    a.product.update()
        .reorder(a.lanes_to_add, a.key_in_group, a.row)
        .atomic()
        .vectorize(a.lanes_to_add)
        .vectorize(a.key_in_group)
        .vectorize(a.row);
    // Key by key, so that memory is read in order.
    a.lane_products.bound_extent(a.lane, lanes).vectorize(a.lane).unroll(a.key_in_group).unroll(a.row);
    a.lane_products.update()
        .reorder(a.lane, a.row, a.vectors, a.key_in_group)
        .vectorize(a.lane)
        .unroll(a.row)
        .unroll(a.vectors, largest_divisor(a.key_vectors(), 16))
        .unroll(a.key_in_group);
    a.score.update(1)
        .allow_race_conditions()
        .reorder(a.keys_to_mask.x, a.keys_to_mask.y, a.row, a.row_tile)
        .vectorize(a.keys_to_mask.x);
    a.attends.vectorize(a.key_in_chunk, shape.scores_together, TailStrategy::RoundUp);

    Var score_lane("score_lane");
    const auto in_lanes = [&](Func f, const Halide::RDom &keys) {
        if (!f.has_update_definition()) return;
        Func of_lane = f.update().rfactor(keys.x, score_lane);
        of_lane.compute_at(a.partial, chunk).bound(a.row, 0, rows).bound_extent(a.chunk, 1);
        of_lane.reorder_storage(score_lane, a.row, a.row_tile, a.chunk, a.group, a.batch);
        of_lane.bound_extent(score_lane, shape.scores_together).vectorize(score_lane);
        of_lane.update().reorder(score_lane, keys.y, a.row, a.row_tile).vectorize(score_lane);
        f.update().atomic().vectorize(keys.x);
    };
    in_lanes(a.chunk_max, a.keys_to_compare);
    in_lanes(a.chunk_sum, a.keys_to_add);
    for (Func f : {a.weight, a.applied_weight}) {
        if (!f.defined()) continue;
        f.update()
            .allow_race_conditions()
            .reorder(a.keys_to_exponentiate.x, a.keys_to_exponentiate.y, a.row, a.row_tile)
            .vectorize(a.keys_to_exponentiate.x);
    }

    Var vector_outer("vector_outer"), row_outer("row_outer");
    a.weighted_values.bound(a.lane, 0, value_lanes).bound(a.vector, 0, a.value_vectors()).vectorize(a.lane);
    a.weighted_values.update(0)
        .split(a.vector, vector_outer, a.vector, shape.columns_together)
        .split(a.row, row_outer, a.row, shape.rows_weighed)
        .reorder(a.lane, a.row, a.vector, a.keys_to_weigh.x, vector_outer, row_outer, a.keys_to_weigh.y, a.row_tile)
        .vectorize(a.lane)
        .unroll(a.vector)
        .unroll(a.row)
        .unroll(a.keys_to_weigh.x)
        .partition(a.keys_to_weigh.y, Partition::Never);
    a.values_ahead.compute_at(a.weighted_values, row_outer);
    a.weighted_values.update(1)
        .split(a.vector, vector_outer, a.vector, shape.columns_together)
        .reorder(a.lane, a.vector, a.row, vector_outer, a.row_tile, a.keys_to_weigh_singly)
        .vectorize(a.lane)
        .unroll(a.vector)
        .unroll(a.row);

    for (Func mean : a.of_queries.means) {
        mean.compute_root();
        sum_in_lanes(mean, a.variant.head_dim, lanes);
    }
    const auto keep_tile = [&](Func tile, const std::vector<Func> &means, int row_size) {
        if (!tile.defined()) return;
        tile.vectorize(a.dim, std::min(lanes, row_size), TailStrategy::GuardWithIf);
        for (Func mean : means) {
            mean.compute_at(tile, a.key_in_chunk);
            sum_in_lanes(mean, row_size, lanes);
        }
    };
    if (!a.key_is_plain) a.key_tile.compute_at(a.score, a.keys_to_score.y);
    // Both updates read them.
    if (!a.value_is_plain) a.value_tile.compute_at(a.partial, chunk);
    keep_tile(a.key_tile, a.of_keys.means, a.variant.head_dim);
    keep_tile(a.value_tile, a.of_values.means, a.variant.value_dim);
    for (Func mean : a.of_outputs.means) mean.compute_at(a.output, a.position);
    schedule_position_tables(a, lanes);
}

}  // namespace heed::generators
