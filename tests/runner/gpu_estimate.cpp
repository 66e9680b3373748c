// SPDX-License-Identifier: MIT
#include "gpu_estimate.hpp"

#include <doctest/doctest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "fake_library.hpp"

using namespace heed;

namespace {

const runner::gpu_model &gpu(const std::string &name) {
    for (const runner::gpu_model &model : runner::gpu_models())
        if (model.name == name) return model;
    throw name;
}

gpu_block block_of(int threads, int shared_bytes, int registers_sm_80 = 0, int registers_sm_90 = 0) {
    return {threads, shared_bytes, 4, 4, 8, 0, registers_sm_80, registers_sm_90};
}

// Of `plain`, 2 heads of 8 elements: tiles of 8 rows x 12 keys; 2 x 3 scores and 2 x 2 results a thread, 4 slices.
kernel_description kernel_of(device_kind device, int keys_of_part = 0) {
    kernel_description kernel = fakes::library(fakes::mistake::none).variants[0].kernels[0];
    kernel.name = "fake_on_gpu";
    kernel.isa = "cuda_80";
    kernel.heads_per_tile = 1;
    kernel.device = device;
    kernel.device_version = device == device_kind::cuda ? 80 : 0;
    kernel.block = {16, 1000, 2, 3, 2, keys_of_part, 40, 32};
    return kernel;
}

runner::gpu_work work_of(const kernel_description &kernel, const call_sizes &sizes, const runner::tile_counts &tiles) {
    return runner::work_of(fakes::library(fakes::mistake::none).variants[0], kernel, sizes, tiles,
                           tiles.executed_pairs);
}

}  // namespace

TEST_CASE("registers limit the blocks of a processor") {
    // 112 registers are 3584 of a warp: 18 warps, 16 in units of 4, are 4 blocks of 4 warps.
    const runner::gpu_residency on_a100 = runner::residency_of(block_of(128, 20000, 112, 78), gpu("A100"));
    CHECK(on_a100.blocks == 4);
    CHECK(on_a100.warps == 16);
    CHECK(on_a100.occupancy == doctest::Approx(0.25));
    CHECK(std::string(on_a100.limit) == "registers");
    CHECK_FALSE(on_a100.registers_unknown);
    // 78 registers are 2496, given out as 2560: 25 warps, 24 in units of 4.
    const runner::gpu_residency on_h100 = runner::residency_of(block_of(128, 20000, 112, 78), gpu("H100"));
    CHECK(on_h100.blocks == 6);
    CHECK(std::string(on_h100.limit) == "registers");
    // Blocks of one warp show the unit of warps, 51 registers that of registers: 1632 count as 1792.
    CHECK(runner::residency_of(block_of(32, 0, 112), gpu("A100")).blocks == 16);
    CHECK(runner::residency_of(block_of(64, 0, 51), gpu("A100")).blocks == 18);
}

TEST_CASE("shared memory limits the blocks of a processor") {
    // With 1 KiB of the system, in units of 128 bytes: 38400. 164 KiB are 4.4 of them, 228 KiB 6.1.
    CHECK(runner::residency_of(block_of(128, 37300, 32, 32), gpu("A100")).blocks == 4);
    CHECK(runner::residency_of(block_of(128, 37300, 32, 32), gpu("H200")).blocks == 6);
    CHECK(std::string(runner::residency_of(block_of(128, 37300, 32, 32), gpu("A100")).limit) == "shared memory");
    // Exactly two, and one byte more.
    CHECK(runner::residency_of(block_of(128, 82 * 1024 - 1024, 32), gpu("A100")).blocks == 2);
    CHECK(runner::residency_of(block_of(128, 82 * 1024 - 1023, 32), gpu("A100")).blocks == 1);
}

TEST_CASE("a processor has 64 warps and 32 blocks, and a block whole warps") {
    CHECK(std::string(runner::residency_of(block_of(1024, 0, 16), gpu("A100")).limit) == "warps");
    CHECK(runner::residency_of(block_of(1024, 0, 16), gpu("A100")).occupancy == doctest::Approx(1.0));
    CHECK(std::string(runner::residency_of(block_of(32, 0, 16), gpu("A100")).limit) == "blocks");
    CHECK(runner::residency_of(block_of(32, 0, 16), gpu("A100")).occupancy == doctest::Approx(0.5));
    CHECK(runner::residency_of(block_of(65, 0, 16), gpu("A100")).warps == 63);
    CHECK(runner::residency_of(block_of(1024, 0, 255), gpu("A100")).blocks == 0);
}

TEST_CASE("unknown registers limit nothing and are said to be unknown") {
    const runner::gpu_residency held = runner::residency_of(block_of(128, 37300), gpu("A100"));
    CHECK(held.registers_unknown);
    CHECK(held.blocks == 4);
    CHECK(std::string(held.limit) == "shared memory");
    CHECK(std::string(runner::residency_of(block_of(32, 0), gpu("A100")).limit) == "blocks");
    CHECK_FALSE(runner::residency_of(block_of(128, 37300, 112, 0), gpu("A100")).registers_unknown);
    CHECK(runner::residency_of(block_of(128, 37300, 112, 0), gpu("H100")).registers_unknown);
}

TEST_CASE("reads of the products follow from what a thread computes") {
    // 4 rows x 4 keys: 4 keys and 4 queries for 16 FMAs. 4 rows x 8 columns: 4 weights and 8 values for 32.
    const runner::gpu_reads reads = runner::reads_of(block_of(128, 0));
    CHECK(reads.shared_by_scores == doctest::Approx(1.0));
    CHECK(reads.cached_by_scores == doctest::Approx(1.0));
    CHECK(reads.shared_by_values == doctest::Approx(1.5));
    CHECK(runner::reads_of({64, 0, 4, 2, 16, 0, 0, 0}).cached_by_scores == doctest::Approx(2.0));
    CHECK(runner::reads_of({64, 0, 4, 2, 16, 0, 0, 0}).shared_by_scores == doctest::Approx(1.0));
}

TEST_CASE("the work of a call counts whole tiles, visible pairs, and bytes of each pass") {
    // 9 queries are 2 tiles of 8, 30 keys 3 of 12; 5 tiles of each head are not skipped, of 48 keys of the 60 in all.
    const runner::gpu_work work = work_of(kernel_of(device_kind::cuda), {1, 9, 30}, {2, 2, 8, 500, 48});
    CHECK(work.blocks == 4);
    CHECK(work.flops == 500 * 2 * 16);
    CHECK(work.fmas == 10 * 8 * 12 * 16);
    // 2 bytes for each FMA of scores, 4 for each of values.
    CHECK(work.shared_bytes == 10 * 8 * 12 * (8 * 2 + 8 * 4));
    const double queries = 18 * 8 * 4 + 32 * 8 * 2 * 4, read = 48 * 16 * 4;
    const double accumulated = 32 * 4 * (2 + 2) * 4 + 18 * (8 + 2) * 4, output = 18 * 8 * 4;
    CHECK(work.dram_bytes == queries + read + accumulated + output);
    CHECK(work.flops_per_byte() == doctest::Approx(16000 / work.dram_bytes));
}

TEST_CASE("parts of the keys are blocks of their own, and merged") {
    const runner::tile_counts tiles{0, 0, 8, 96, 96};
    const runner::gpu_work whole = work_of(kernel_of(device_kind::cuda), {1, 1, 48}, tiles);
    const runner::gpu_work parts = work_of(kernel_of(device_kind::cuda, 24), {1, 1, 48}, tiles);
    CHECK(whole.blocks == 2);
    CHECK(parts.blocks == 4);
    // Once more what is accumulated.
    CHECK(parts.dram_bytes - whole.dram_bytes == 16 * 4 * (2 + 2) * 4 + 2 * (8 + 2) * 4);
}

TEST_CASE("changed keys that a query reaches are read, written and read again") {
    variant_description variant = fakes::library(fakes::mistake::none).variants[0];
    const kernel_description kernel = kernel_of(device_kind::cuda);
    const runner::tile_counts tiles{0, 0, 8, 2 * 48, 48};
    const double plain = runner::work_of(variant, kernel, {1, 1, 48}, tiles, 96).dram_bytes;
    variant.readings.modify_key = [](const call_sizes &, const row_position &, double *, const input_reader &) {};
    CHECK(runner::work_of(variant, kernel, {1, 1, 48}, tiles, 96).dram_bytes - plain == 48 * 8 * 2 * 4);
}

TEST_CASE("bounds are peaks of data sheets; few blocks leave processors idle") {
    runner::gpu_work work{};
    work.blocks = 1000;
    work.fmas = 19.5e12 / 2;
    work.dram_bytes = 2.039e12 / 2;
    const runner::gpu_bounds bounds = runner::bounds_of(work, gpu("A100"));
    CHECK(bounds.compute == doctest::Approx(1.0).epsilon(0.01));
    CHECK(bounds.dram == doctest::Approx(0.5));
    CHECK(std::string(bounds.expected()) == "compute");
    work.blocks = 54;
    CHECK(runner::bounds_of(work, gpu("A100")).compute == doctest::Approx(2.0).epsilon(0.01));
    CHECK(runner::bounds_of(work, gpu("A100")).dram == doctest::Approx(0.5));

    // 2 bytes of shared memory for each FMA are the balance of A100, 1 that of H100.
    work.blocks = 1000;
    work.shared_bytes = 1.5 * work.fmas;
    CHECK(std::string(runner::bounds_of(work, gpu("A100")).expected()) == "compute");
    CHECK(std::string(runner::bounds_of(work, gpu("H100")).expected()) == "shared memory");
    work.dram_bytes = 1e14;
    CHECK(std::string(runner::bounds_of(work, gpu("H100")).expected()) == "DRAM");
    // 67 TFLOPS.
    work.fmas = 67e12 / 2;
    CHECK(runner::bounds_of(work, gpu("H200")).compute == doctest::Approx(1.0).epsilon(0.01));
}

TEST_CASE("kernels for CUDA run on GPUs of their version and later") {
    kernel_description kernel = kernel_of(device_kind::cuda);
    CHECK(runner::can_run(gpu("A100"), kernel));
    kernel.device_version = 86;
    CHECK_FALSE(runner::can_run(gpu("A100"), kernel));
    CHECK(runner::can_run(gpu("H100"), kernel));
    CHECK(runner::can_run(gpu("A100"), kernel_of(device_kind::opencl)));
    kernel.device = device_kind::cpu;
    CHECK_FALSE(runner::can_run(gpu("H100"), kernel));
}

TEST_CASE("explain estimates kernels of GPUs, and says that it does") {
    variant_description variant = fakes::library(fakes::mistake::none).variants[0];
    const kernel_library one{"one", &variant, 1};
    const std::vector<std::string> explain{"explain", "plain", "--q", "9", "--kv", "30"};
    const auto contains = [](const std::string &text, const std::string &part) {
        return text.find(part) != std::string::npos;
    };
    CHECK_FALSE(contains(run_command(one, explain).out, "GPUs"));

    kernel_description kernels[] = {variant.kernels[0], kernel_of(device_kind::cuda)};
    variant.kernels = kernels;
    variant.kernel_count = 2;
    const std::string known = run_command(one, explain).out;
    CHECK(contains(known, "GPUs: an estimate from tiles, registers and data sheets, not measured"));
    CHECK(contains(known, "kernel fake_on_gpu: 16 threads and 1000 bytes of shared memory a block"));
    CHECK(contains(known, "A100         40      32     32           50.0  blocks"));
    CHECK(contains(known, "H200         32"));
    CHECK_FALSE(contains(known, "unknown"));
    const auto listed = nlohmann::json::parse(run_command(one, {"list", "--json"}).out)[0]["kernels"];
    CHECK_FALSE(listed[0].contains("registers_sm_80"));
    CHECK(listed[1]["threads_of_block"] == 16);
    CHECK(listed[1]["shared_bytes_of_block"] == 1000);
    CHECK(listed[1]["registers_sm_80"] == 40);

    kernels[1] = kernel_of(device_kind::opencl);
    kernels[1].block.registers_sm_80 = kernels[1].block.registers_sm_90 = 0;
    kernels[1].most_queries = 4;
    const std::string unknown = run_command(one, explain).out;
    CHECK(contains(unknown, "A100  unknown"));
    CHECK(contains(unknown,
                   "registers unknown (the driver compiles the kernel): blocks, warps and occupancy are the "
                   "most that may be"));
    CHECK(contains(unknown, "calls with more than 4 queries choose another schedule"));
    CHECK(
        nlohmann::json::parse(run_command(one, {"list", "--json"}).out)[0]["kernels"][1]["registers_sm_80"].is_null());
}
