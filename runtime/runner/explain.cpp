// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <heed/device.hpp>

#include <set>
#include <stdexcept>

#include "commands.hpp"
#include "describe.hpp"
#include "gpu_estimate.hpp"
#include "inputs.hpp"
#include "invoke.hpp"
#include "problem.hpp"
#include "selection.hpp"
#include "table.hpp"
#include "tile_map.hpp"
#include "visible_pairs.hpp"

namespace heed::runner {

namespace {

const kernel_description &explained_kernel(const variant_description &variant, const std::string &isa,
                                           std::int64_t q_len) {
    for (const computed what : {computed::output, computed::weights}) {
        std::vector<const kernel_description *> kernels;
        for (int i = 0; i < variant.kernel_count; ++i)
            if ((isa.empty() || isa == variant.kernels[i].isa) && computed_by(variant.kernels[i]) == what &&
                is_called(variant.kernels[i]))
                kernels.push_back(&variant.kernels[i]);
        const auto suited = suited_kernels(kernels, q_len, "");
        if (!suited.empty()) return *suited.front();
    }
    throw std::invalid_argument(fmt::format("explain: {} has no kernel for '{}'", variant.name, isa));
}

void print_arguments(const variant_description &variant) {
    text_table table({"argument", "type", "shape", ""});
    for (const argument_text &argument : arguments_of(variant))
        table.add({argument.name, argument.type, shape_text(argument), argument.role});
    fmt::print("{}", table.text());
}

void print_work(const variant_description &variant, const call_sizes &sizes, const tile_counts &tiles,
                std::int64_t visible) {
    const double per_pair = flops_per_pair(variant);
    const double dense = static_cast<double>(sizes.batch) * variant.heads * static_cast<double>(sizes.q_len) *
                         static_cast<double>(sizes.kv_len);
    const double executed = static_cast<double>(tiles.executed_pairs), seen = static_cast<double>(visible);
    const double width = static_cast<double>(variant.head_dim) + variant.value_dim;
    const double bytes = static_cast<double>(sizes.batch) * sizeof(float) * width *
                         (static_cast<double>(variant.heads) * static_cast<double>(sizes.q_len) +
                          static_cast<double>(variant.groups) * static_cast<double>(sizes.kv_len));
    text_table table({"", "pairs", "GFLOP", "of dense (%)"});
    const auto add = [&](const char *name, double pairs) {
        table.add({name, fmt::format("{:.0f}", pairs), fmt::format("{:.4g}", pairs * per_pair * 1e-9),
                   fmt::format("{:.1f}", dense > 0 ? 100.0 * pairs / dense : 0.0)});
    };
    add("dense", dense);
    add("executed tiles", executed);
    add("visible pairs", seen);
    fmt::print("{}\n", table.text());
    fmt::print("tiles: {} empty (not run), {} mixed (run with the mask), {} full (run without the mask)\n", tiles.empty,
               tiles.mixed, tiles.full);
    fmt::print(
        "memory: {:.4g} MB for query, key, value and output, each once; arithmetic intensity {:.4g} FLOP/byte of the "
        "visible pairs\n",
        bytes * 1e-6, seen * per_pair / bytes);
}

// The device of each kind of kernels, or why it is not here.
void print_devices(const variant_description &variant, const std::string &isa) {
    std::set<std::string> shown;
    for (int i = 0; i < variant.kernel_count; ++i) {
        const kernel_description &kernel = variant.kernels[i];
        if (kernel.device == device_kind::cpu || (!isa.empty() && isa != kernel.isa)) continue;
        if (!shown.insert(kernel.isa).second) continue;
        const std::string why_not = why_not_here(kernel);
        fmt::print("kernels for {} {}: {}\n", kernel.isa, why_not.empty() ? "run here" : "do not run here",
                   why_not.empty() ? device_of(kernel.device).name : why_not);
    }
}

std::string reads_text(const gpu_block &block) {
    const gpu_reads reads = reads_of(block);
    return fmt::format(
        "a thread computes {0} rows x {1} keys of scores and {0} rows x {2} columns of results,\n  bytes of shared "
        "memory "
        "that it reads for each FMA of these: {3:.3g} and {4:.3g}; of queries by way of the L1 cache, not counted "
        "below: "
        "{5:.3g}",
        block.rows_of_thread, block.keys_of_thread, block.columns_of_thread, reads.shared_by_scores,
        reads.shared_by_values, reads.cached_by_scores);
}

void print_estimate(const kernel_description &kernel, const gpu_work &work) {
    const gpu_block &block = kernel.block;
    fmt::print("\nkernel {}: {} threads and {} bytes of shared memory a block\n  {}\n", kernel.name, block.threads,
               block.shared_bytes, reads_text(block));
    fmt::print("  {:.0f} blocks; arithmetic intensity {:.4g} FLOP/byte: visible pairs, {:.4g} MB of DRAM\n",
               work.blocks, work.flops_per_byte(), work.dram_bytes * 1e-6);
    text_table table({"", "registers", "blocks", "warps", "occupancy (%)", "limited by", "compute (ms)",
                      "shared memory (ms)", "DRAM (ms)", "expected bound"});
    bool registers_unknown = false;
    for (const gpu_model &gpu : gpu_models()) {
        if (!can_run(gpu, kernel)) continue;
        const gpu_residency held = residency_of(block, gpu);
        const gpu_bounds bounds = bounds_of(work, gpu);
        registers_unknown = registers_unknown || held.registers_unknown;
        const auto milliseconds = [](double seconds) { return fmt::format("{:.4g}", seconds * 1e3); };
        table.add({gpu.name, held.registers_unknown ? "unknown" : fmt::format("{}", registers_of(gpu, block)),
                   fmt::format("{}", held.blocks), fmt::format("{}", held.warps),
                   fmt::format("{:.1f}", 100 * held.occupancy), held.limit, milliseconds(bounds.compute),
                   milliseconds(bounds.shared_memory), milliseconds(bounds.dram), bounds.expected()});
    }
    fmt::print("{}", table.text());
    if (registers_unknown)
        fmt::print("registers unknown ({}): blocks, warps and occupancy are the most that may be\n",
                   kernel.device == device_kind::cuda ? "the build found no ptxas, or it cannot assemble this kernel"
                                                      : "the driver compiles the kernel");
}

// Of all kernels for GPUs that attend: also of those that a call of these sizes would not choose.
void print_estimates(const variant_description &variant, const call_sizes &sizes, const std::string &isa,
                     const input_reader &reader, std::int64_t visible) {
    bool first = true;
    for (int i = 0; i < variant.kernel_count; ++i) {
        const kernel_description &kernel = variant.kernels[i];
        if (kernel.block.threads == 0 || (!isa.empty() && isa != kernel.isa)) continue;
        if (first)
            fmt::print(
                "\nGPUs: an estimate from tiles, registers and data sheets, not measured. Blocks and warps are those "
                "that a "
                "processor holds at once;\ntimes are the least that both products, their reads of shared memory and "
                "each "
                "pass over the tensors take at the device's peak.\n");
        first = false;
        print_estimate(kernel, work_of(variant, kernel, sizes, count_tiles(variant, kernel, sizes, reader), visible));
        if (!suits(kernel, sizes.q_len))
            fmt::print("calls with more than {} queries choose another schedule\n", kernel.most_queries);
    }
}

}  // namespace

int explain(const kernel_library &library, const explain_options &options) {
    const variant_description &variant = *select_variants(library, {options.name}).front();
    const kernel_description &kernel = explained_kernel(variant, options.isa, options.q_len);
    if (options.head < 0 || options.head >= variant.heads)
        throw std::invalid_argument(
            fmt::format("explain: --head {}: {} has heads 0 to {}", options.head, variant.name, variant.heads - 1));
    if (options.batch_entry < 0 || options.batch_entry >= options.batch)
        throw std::invalid_argument(
            fmt::format("explain: --entry {}: the batch is {}", options.batch_entry, options.batch));
    const call_sizes sizes{options.batch, options.q_len, options.kv_len};
    check_settings({&variant}, options.settings);
    const input_tables inputs(variant, sizes, integer_fill::lengths, 1, options.settings);

    const tile_map map = make_tile_map(variant, kernel, sizes, options.batch_entry, options.head, inputs.reader());
    if (!options.png.empty()) write_tile_picture(map, options.png);

    fmt::print("{}\n{}\n", variant.name, indented(variant.formula));
    print_arguments(variant);
    fmt::print("\nkernel {}: tiles of {} rows x {} keys{}\n", kernel.name, map.rows_per_tile, map.keys_per_tile,
               map.heads_per_tile > 1 ? fmt::format(" of each of {} heads", map.heads_per_tile) : "");
    print_devices(variant, options.isa);
    fmt::print(
        "batch {}, q_len {}, kv_len {}; head {} of batch entry {}; queries down, keys to the right; . empty, / mixed, "
        "# full\n\n{}\n",
        sizes.batch, sizes.q_len, sizes.kv_len, options.head, options.batch_entry, tile_text(map, options.width));
    const std::int64_t visible = count_visible_pairs(variant, sizes, inputs.reader());
    print_work(variant, sizes, count_tiles(variant, kernel, sizes, inputs.reader()), visible);
    print_estimates(variant, sizes, options.isa, inputs.reader(), visible);
    if (!options.png.empty()) fmt::print("wrote {}\n", options.png);
    return 0;
}

}  // namespace heed::runner
