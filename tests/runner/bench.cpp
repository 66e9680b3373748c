// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "fake_library.hpp"

namespace {

const heed::kernel_library &kernels() { return fakes::library(fakes::mistake::none); }

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("bench writes a record with all fields for every kernel, length and number of threads") {
    const temporary_file json(".json"), csv(".csv");
    const auto result = run_command(kernels(), {"bench", "causal", "--seq", "16,32", "--threads", "1,2", "--repeat",
                                                "2", "--round-time", "0", "--json", json.name, "--csv", csv.name});
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    const auto records = nlohmann::json::parse(std::ifstream(json.name));
    REQUIRE(records.size() == 4);
    for (const auto &record : records) {
        for (const char *field : {"variant",
                                  "pass",
                                  "schedule",
                                  "isa",
                                  "dtype",
                                  "batch",
                                  "heads",
                                  "groups",
                                  "head_dim",
                                  "q_len",
                                  "kv_len",
                                  "threads",
                                  "min_s",
                                  "median_s",
                                  "gflops",
                                  "fma_peak_gflops",
                                  "fraction_of_fma_peak",
                                  "read_gbps",
                                  "read_peak_gbps",
                                  "fraction_of_read_peak"}) {
            CAPTURE(field);
            CHECK(record.contains(field));
        }
        CHECK(record["variant"] == "causal");
        CHECK(record["heads"] == 4);
        CHECK(record["groups"] == 2);
        CHECK(record["min_s"] <= record["median_s"]);
        const double length = record["q_len"], flops = 4.0 * 16 * 4 * length * (length + 1) / 2;
        CHECK(record["gflops"].get<double>() == doctest::Approx(flops / record["min_s"].get<double>() * 1e-9));
        CHECK_FALSE(record.contains("torch_min_s"));
    }
    std::ifstream lines(csv.name);
    std::string line;
    int count = 0;
    while (std::getline(lines, line)) ++count;
    CHECK(count == 5);
}

TEST_CASE("bench with lengths of its own for queries and keys") {
    const auto result =
        run_command(kernels(), {"bench", "plain", "--q", "1,3", "--kv", "40", "--threads", "1", "--repeat", "1",
                                "--round-time", "0", "--scores", "peaked", "--memory"});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "extra memory (MiB)"));
}

TEST_CASE("every column has its unit") {
    const auto result = run_command(kernels(), {"bench", "plain", "--seq", "8", "--threads", "1", "--repeat", "1"});
    for (const char *column : {"min (ms)", "median (ms)", "GFLOP/s", "FMA peak (GFLOP/s)", "of FMA peak (%)",
                               "K+V read (GB/s)", "of read peak (%)"})
        CHECK(contains(result.out, column));
}

TEST_CASE("the overhead of a call") {
    const auto result = run_command(kernels(), {"bench", "plain", "--overhead", "--threads", "1", "--repeat", "1"});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "(us)"));
}

TEST_CASE("bench of all instruction sets names the kernels whose device is missing, of those that it would time") {
    const fakes::library_for_missing_device missing;
    const auto bench = [&](const std::vector<std::string> &more) {
        std::vector<std::string> arguments{"bench", "plain", "--threads", "1", "--repeat", "1", "--round-time", "0"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_command(missing.library, arguments);
    };
    const std::string line = "[SKIP] 1 kernels for cuda_990: ";
    const auto all = bench({"--seq", "8", "--isa", "all"});
    CHECK(all.status == 0);
    CHECK(contains(all.out, line));
    CHECK(contains(bench({"--overhead", "--isa", "all"}).out, line));
    CHECK_FALSE(contains(bench({"--seq", "8"}).out, line));
    CHECK_FALSE(contains(bench({"--seq", "8", "--isa", "all", "--dtype", "f16"}).out, line));
    CHECK_FALSE(contains(bench({"--seq", "8", "--isa", "all", "--pass", "cached"}).out, line));
    CHECK(contains(run_command(missing.library, {"verify", "--quick"}).out, line));
}

TEST_CASE("bench of calls on caches") {
    const heed::kernel_library &library = fakes::library_with_cache(fakes::mistake::none);
    const temporary_file json(".json");
    const std::vector<std::string> common{"bench",        "biased",    "--q",    "2",        "--kv",
                                          "40",           "--threads", "1",      "--repeat", "1",
                                          "--round-time", "0",         "--json", json.name};
    for (const std::vector<std::string> &more :
         {std::vector<std::string>{"--pass", "cached"}, {"--page-size", "0"}, {"--page-size", "7"}}) {
        std::vector<std::string> arguments = common;
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto result = run_command(library, arguments);
        CAPTURE(result.err);
        REQUIRE(result.status == 0);
        CHECK(result.err.empty());
        CHECK(contains(result.out, " cached "));
        const auto records = nlohmann::json::parse(std::ifstream(json.name));
        REQUIRE(records.size() == 1);
        CHECK(records[0]["pass"] == "cached");
        CHECK(records[0]["schedule"] == "naive");
        // 40 keys of 2 groups: head_dim 6, value_dim 5.
        CHECK(records[0]["key_value_bytes"] == 40 * 2 * (6 + 5) * 4);
    }
    CHECK(run_command(library, {"bench", "plain", "--overhead", "--threads", "1", "--repeat", "1"}).status == 0);
}

TEST_CASE("the size of a cache's pages") {
    const auto bench = [](const char *page_size) {
        return run_command(fakes::library_with_cache(fakes::mistake::fails_in_many_pages),
                           {"bench", "plain", "--q", "1", "--kv", "65", "--threads", "1", "--repeat", "1",
                            "--round-time", "0", "--page-size", page_size});
    };
    CHECK(bench("0").status == 0);
    CHECK(bench("65").status == 0);
    const auto result = bench("64");
    CHECK(result.status == 1);
    CHECK(contains(result.err, "plain: kernel fake_cached_naive_f32_x86_64 failed: it returned -1"));
}

TEST_CASE("bench of a pass that the library lacks") {
    const heed::kernel_library &library = fakes::library_with_cache(fakes::mistake::none);
    const std::vector<std::string> common{"bench", "plain", "--threads", "1", "--repeat", "1"};
    for (const std::vector<std::string> &more : {std::vector<std::string>{"--seq", "8"},
                                                 {"--seq", "8", "--isa", "x86_64"},
                                                 {"--seq", "8", "--isa", "all"},
                                                 {"--overhead"}}) {
        std::vector<std::string> arguments = common;
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto with_pass = [&](const char *pass) {
            std::vector<std::string> all = arguments;
            all.insert(all.end(), {"--pass", pass});
            return all;
        };
        const auto forward = run_command(library, with_pass("forward"));
        CHECK(forward.status == 1);
        CHECK(forward.err == "bench: there is no kernel of the pass forward that this machine can run\n");
        const auto cached = run_command(kernels(), with_pass("cached"));
        CHECK(cached.status == 1);
        CHECK(cached.err == "bench: there is no kernel of the pass cached that this machine can run\n");
    }
    const auto decode = run_command(library, {"bench", "plain", "--seq", "8", "--schedule", "decode"});
    CHECK(decode.status == 1);
    CHECK(
        decode.err ==
        "bench: there is no kernel of the pass forward or cached and the schedule decode that this machine can run\n");
}

TEST_CASE("a cache holds the keys of all its queries") {
    const auto result = run_command(fakes::library_with_cache(fakes::mistake::none),
                                    {"bench", "plain", "--q", "9", "--kv", "4", "--pass", "cached"});
    CHECK(result.status == 1);
    CHECK(result.err ==
          "bench: plain with q_len 9 and kv_len 4: a cache holds the keys of all its queries. Fix: at least as many "
          "keys as queries\n");
    CHECK(result.out.empty());
}

TEST_CASE("a missing PyTorch is explained") {
    const auto no_python = run_command(kernels(), {"bench", "plain", "--against-torch", "--python", "/no/such/python"});
    CHECK(no_python.status == 1);
    CHECK(contains(no_python.err, "cannot start '/no/such/python'"));
    const auto no_torch = run_command(kernels(), {"bench", "plain", "--against-torch", "--python", "true"});
    CHECK(no_torch.status == 1);
    CHECK(contains(no_torch.err, "'true' ended without an answer"));
}

TEST_CASE("a Python that ends does not take the run with it") {
    const temporary_file python(".sh");
    std::ofstream(python.name) << "#!/bin/sh\necho '{\"version\": \"fake\"}'\n";
    std::filesystem::permissions(python.name, std::filesystem::perms::owner_all);
    const auto result = run_command(kernels(), {"bench", "plain", "--seq", "8", "--threads", "1", "--repeat", "1",
                                                "--against-torch", "--python", python.name});
    // Not -1: writing to the process raised no signal.
    CHECK(result.status == 1);
    CHECK(contains(result.out, "GFLOP/s"));
    CHECK(contains(result.out, "ended without an answer; Heed was timed alone from then on"));
}

// Set HEED_TORCH_PYTHON to a Python with PyTorch to run it; compiling takes a minute or two.
const char *const torch_python = std::getenv("HEED_TORCH_PYTHON");
TEST_CASE("FlexAttention computes what the formulas say" * doctest::skip(torch_python == nullptr)) {
    const std::string python = torch_python == nullptr ? "" : torch_python;
    const temporary_file json(".json");
    const auto result =
        run_command(kernels(), {"bench", "--seq", "48", "--threads", "1,2", "--repeat", "1", "--round-time", "0",
                                "--against-torch", "--python", python, "--json", json.name});
    REQUIRE(result.status == 0);
    CAPTURE(result.out);
    CHECK(contains(result.out, "Flex / Heed (x)"));
    CHECK(contains(result.out, "padded q 48 kv 48: not compared with FlexAttention: on CPUs it returns no"));
    for (const auto &record : nlohmann::json::parse(std::ifstream(json.name))) {
        CAPTURE(record.dump());
        CHECK(record.contains("flex_min_s") == (record["variant"] != "padded"));
    }
}

TEST_CASE("a setting is for the variants that have the input") {
    const auto result = run_command(kernels(), {"bench", "plain", "padded", "--seq", "8", "--threads", "1", "--repeat",
                                                "1", "--round-time", "0", "--set", "kv_len=5"});
    CHECK(result.status == 0);
}

TEST_CASE("a file that cannot be written is named before anything is timed") {
    const auto result = run_command(kernels(), {"bench", "plain", "--seq", "8", "--threads", "1", "--repeat", "1",
                                                "--json", "/no/such/folder/x.json"});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "cannot write '/no/such/folder/x.json'"));
    CHECK(result.out.empty());
}

TEST_CASE("one file for both formats is refused, and none is left behind") {
    const temporary_file file(".json");
    const auto result =
        run_command(kernels(), {"bench", "plain", "--seq", "8", "--json", file.name, "--csv", file.name});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "both name '" + file.name + "'"));
    CHECK_FALSE(std::filesystem::exists(file.name));
}

TEST_CASE("lengths that do not fit the memory are refused with sizes and the fix") {
    const auto result = run_command(kernels(), {"bench", "biased", "--batch", "16777216", "--seq", "16777216"});
    CHECK(result.status == 1);
    // 2^24 * 2^24 * 2 heads * 6 elements * 4 bytes.
    CHECK(contains(result.err, "biased with batch 16777216, q_len 16777216, kv_len 16777216: the tensors need "));
    CHECK(contains(result.err, "12582912.0 GiB of it query (16777216, 2, 16777216, 6)"));
    CHECK(contains(result.err, "Fix: smaller lengths (--seq, --q, --kv) or a smaller --batch"));
}
