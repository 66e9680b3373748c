// SPDX-License-Identifier: MIT
#include "schedule_gpu.hpp"

#include "schedule_rows.hpp"
#include "whole_numbers.hpp"

namespace heed::generators {

using Halide::Func;
using Halide::MemoryType;
using Halide::RVar;
using Halide::TailStrategy;
using Halide::Var;

namespace {

constexpr auto shared = MemoryType::GPUShared;

int lanes_of(int count) { return count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1; }

/// One thread for each element; for what is computed once, before or behind the steps.
void one_by_one(Func f) {
    Var block("block"), thread("thread");
    const auto lay_out = [&](Halide::Stage stage, const std::vector<Var> &variables) {
        Var all = variables.front();
        for (std::size_t i = 1; i < variables.size(); ++i) {
            Var fused("fused");
            stage.fuse(all, variables[i], fused);
            all = fused;
        }
        stage.split(all, block, thread, 128, TailStrategy::GuardWithIf).gpu_blocks(block).gpu_threads(thread);
    };
    lay_out(f, f.args());
    for (int i = 0; i < f.num_update_definitions(); ++i) {
        for (const RVar &reduced : f.rvars(i)) f.update(i).reorder(reduced, f.args()[0]);
        lay_out(f.update(i), f.args());
    }
}

/// Schedules one kernel, from its first launch to its last.
class gpu_schedule {
  public:
    gpu_schedule(gpu_attention &attention, const gpu_tiles &tiles)
        : a(attention),
          row_threads(tiles.row_threads),
          slices(attention.tile.slices),
          rows_each(attention.tile.rows / tiles.row_threads),
          keys_each(attention.tile.keys / attention.tile.slices),
          in_parts(attention.tile.steps_of_part > 0),
          task(in_parts ? queries_of_part : attention.query_block) {}

    void launch_what_comes_first() {
        std::vector<Func> launched{a.query_tile};
        for (const Func &some : {a.changed_keys, a.changed_values}) {
            if (some.defined()) launched.push_back(some);
        }
        launched.insert(launched.end(), a.ranges.begin(), a.ranges.end());
        for (const row_parts *parts : {&a.of_queries, &a.of_keys, &a.of_values, &a.of_outputs}) {
            launched.insert(launched.end(), parts->means.begin(), parts->means.end());
        }
        for (Func f : launched) one_by_one(f.compute_root());
        a.query_tile.bound(a.row, 0, a.tile.rows);
        // In double precision, which GPUs are slow at or lack.
        schedule_position_tables(a, 4);
    }

    void write_results() {
        // A modification of a row of results may read all of it at any element.
        Func normalised = a.output;
        if (!a.variant.output_stages.empty()) {
            normalised = a.normalised_values.compute_root();
            one_by_one(a.output);
        }
        if (in_parts) {
            merge_parts(normalised);
        } else {
            one_by_one(normalised);
            one_by_one(a.log_sum_exp);
        }
    }

    void go_over_tiles() {
        // Columns of a row lie together, as who reads them goes over columns. Threads write in that order, too,
        // whatever part of the state they have computed: those next to each other have the slices of a row.
        Var row_in_turn("row_in_turn"), turn_of_rows("turn_of_rows"), row_and_slice("row_and_slice"), outer("outer");
        a.accumulated.compute_root()
            .bound(a.row, 0, a.tile.rows)
            .bound(a.slice, 0, slices)
            .bound(a.slot, 0, a.slots_of_slice())
            .reorder_storage(a.slice, a.slot, a.row)
            .split(a.row, turn_of_rows, row_in_turn, row_threads)
            .fuse(a.slice, row_in_turn, row_and_slice)
            .split(row_and_slice, other_thread, row_thread, row_threads)
            .fuse(a.group, a.batch, outer)
            .unroll(turn_of_rows)
            .unroll(a.slot);
        if (in_parts) {
            // Tiles of queries that read the same part of the keys are neighbours, so that the second cache has it for
            // all but one of them.
            a.accumulated.bound(a.head_block, 0, a.heads_in_group() / a.tile.heads_per_tile)
                .fuse(a.head_block, a.query_block, queries_of_part);
        }
        const Var next = in_parts ? a.part : a.head_block;
        a.accumulated.reorder(turn_of_rows, a.slot, row_thread, other_thread, task, next, outer)
            .gpu_blocks(task, next, outer)
            .gpu_threads(row_thread, other_thread);
        carry_state();
    }

    void compute_step() {
        weigh_values();
        compare_and_add();
        compute_scores();
        copy_by_all_threads(a.key_tile, a.dim, a.variant.head_dim);
        copy_by_all_threads(a.value_tile, a.column, slices * a.columns_of_slice());
    }

  private:
    // Each thread merges what it writes, in registers: so a decode step is four launches, where it was 16 with sums of
    // their own in memory. Registers need indices without a guard, so the blocks have no rest.
    void merge_parts(Func normalised) {
        Var block("block"), thread("thread"), outer_row("outer_row");
        const auto in_whole_blocks = [&](Func f, int elements) {
            const int threads = largest_divisor(elements, 256);
            Var row_element("row_element");
            if (f.dimensions() == 5) {
                f.fuse(a.dim, a.head_in_group, row_element);
            } else {
                row_element = a.head_in_group;
            }
            f.bound(a.head_in_group, 0, a.heads_in_group())
                .fuse(a.group, a.batch, outer_row)
                .split(row_element, block, thread, threads)
                .reorder(thread, a.position, block, outer_row)
                .gpu_blocks(a.position, block, outer_row)
                .gpu_threads(thread);
        };
        normalised.bound(a.dim, 0, a.variant.value_dim);
        in_whole_blocks(normalised, a.variant.value_dim * a.heads_in_group());
        in_whole_blocks(a.log_sum_exp, a.heads_in_group());
        Func(a.row_max.clone_in({a.row_sum, a.log_sum_exp})).compute_at(a.log_sum_exp, thread);
        a.row_sum.compute_at(a.log_sum_exp, thread);
        a.row_max.compute_at(normalised, thread);
        a.merged.compute_at(normalised, thread);
    }

    void carry_state() {
        a.state.compute_at(a.accumulated, task).store_in(shared).reorder_storage(a.row, a.slice);
        a.state.split(a.row, row_thread, row_of_thread, rows_each)
            .reorder(row_of_thread, row_thread, a.slice)
            .vectorize(row_of_thread, lanes_of(rows_each))
            .unroll(row_of_thread)
            .gpu_threads(row_thread, a.slice);
        a.state.update()
            .split(a.row, row_thread, row_of_thread, rows_each)
            .reorder(row_of_thread, row_thread, a.slice, a.steps)
            .unroll(row_of_thread)
            .gpu_threads(row_thread, a.slice);
    }

    // Unrolled, or the sums would not be in registers.
    void weigh_values() {
        for (Func sums : {a.sum_of_all, a.weighted_values}) {
            sums.compute_at(a.state, row_thread)
                .reorder_storage(a.row, a.column_of_slice)
                .reorder(a.row, a.column_of_slice)
                .vectorize(a.row, rows_each)
                .unroll(a.column_of_slice);
        }
        a.sum_of_all.update()
            .reorder(a.row, a.column_of_slice, a.keys_to_weigh)
            .vectorize(a.row, rows_each)
            .unroll(a.column_of_slice);
        a.weighted_values.update()
            .reorder(a.column_of_slice, a.keys_to_redo, a.row)
            .unroll(a.row)
            .unroll(a.column_of_slice);
    }

    void compare_and_add() {
        // Stored for all steps: otherwise these small ones would take the places of large ones that are no longer
        // needed.
        for (Func f : {a.block_max, a.block_sum}) {
            f.compute_at(a.state, step())
                .store_at(a.accumulated, task)
                .store_in(shared)
                .split(a.row, row_of_thread, row_thread, row_threads)
                .reorder(row_thread, row_of_thread)
                .gpu_threads(row_thread, row_of_thread);
        }
        // Added up in registers.
        if (a.maximum_of_row.defined())
            a.maximum_of_row.compute_at(a.block_max, row_thread).update().unroll(a.keys_to_compare);
        a.sum_of_row.compute_at(a.block_sum, row_thread).update().unroll(a.keys_to_add);
    }

    void compute_scores() {
        Var key_of_thread("key_of_thread");
        // Without vectors: Halide compares those of floats strictly on CPUs only.
        for (Func f : {a.score, a.weight, a.applied_weight}) {
            if (!f.defined()) continue;
            f.compute_at(a.state, step())
                .store_in(shared)
                .reorder_storage(a.row, a.key_in_tile)
                .split(a.row, row_thread, row_of_thread, rows_each)
                .split(a.key_in_tile, other_thread, key_of_thread, keys_each)
                .reorder(row_of_thread, key_of_thread, row_thread, other_thread)
                .unroll(row_of_thread)
                .unroll(key_of_thread)
                .gpu_threads(row_thread, other_thread);
        }
        // The branch costs up to 9 registers of few queries and 3 of many (sm_80, sm_90), and nothing spills. It saves
        // two selections and comparisons a pair with `causal`, and whole look-ups where a mask has some.
        a.seen_score.compute_at(a.score, row_thread)
            .reorder_storage(a.row, a.key_in_tile)
            .reorder(a.row, a.key_in_tile)
            .unroll(a.row)
            .unroll(a.key_in_tile)
            .update()
            .reorder(a.row, a.key_in_tile, a.not_all_seen)
            .unroll(a.row)
            .unroll(a.key_in_tile);
        multiply();
    }

    void multiply() {
        const auto in_registers = [&](Func f) {
            f.reorder_storage(a.row, a.key_in_tile)
                .reorder(a.row, a.key_in_tile)
                .vectorize(a.row, rows_each)
                .unroll(a.key_in_tile);
            f.update().vectorize(a.row, rows_each).unroll(a.key_in_tile);
        };
        a.product.compute_at(a.score, row_thread);
        Func summed = a.product;
        if (a.partial_product.defined()) {
            a.product.update().reorder(a.row, a.key_in_tile, a.head_parts);
            in_registers(a.product);
            summed = a.partial_product.compute_at(a.product, a.head_parts);
        }
        summed.update().reorder(a.row, a.key_in_tile, a.head_dims);
        in_registers(summed);
        const auto dims = a.head_dims.x.extent().as<Halide::Internal::IntImm>()->value;
        if (dims % 4 == 0) summed.update().unroll(a.head_dims, 4);
    }

    // In words of 128 bits where rows have so many.
    void copy_by_all_threads(Func f, const Var &element, int row_size) {
        Var word("word"), lane("lane"), all("all"), rest("rest"), turn("turn");
        f.compute_at(a.state, step())
            .store_in(shared)
            .bound_extent(element, row_size)
            .bound_extent(a.key_in_tile, a.tile.keys)
            .split(element, word, lane, lanes_of(row_size))
            .fuse(word, a.key_in_tile, all)
            .split(all, rest, row_thread, row_threads, TailStrategy::GuardWithIf)
            .split(rest, turn, other_thread, slices, TailStrategy::GuardWithIf)
            .reorder(lane, turn, row_thread, other_thread)
            .vectorize(lane)
            .gpu_threads(row_thread, other_thread);
    }

    RVar step() const { return a.steps; }

    gpu_attention &a;
    int row_threads, slices, rows_each, keys_each;
    bool in_parts;
    Var queries_of_part{"queries_of_part"}, row_thread{"row_thread"}, row_of_thread{"row_of_thread"},
        other_thread{"other_thread"};
    Var task;  ///< whose tiles of queries a block goes over
};

}  // namespace

void schedule_gpu(gpu_attention &attention, const gpu_tiles &tiles) {
    gpu_schedule schedule(attention, tiles);
    schedule.launch_what_comes_first();
    schedule.write_results();
    schedule.go_over_tiles();
    schedule.compute_step();
}

}  // namespace heed::generators
