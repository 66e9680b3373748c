// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "fake_library.hpp"

namespace {

const heed::kernel_library &kernels() { return fakes::library(fakes::mistake::none); }

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("list --json gives name, formula, arguments and kernels of every variant") {
    const auto result = run_command(kernels(), {"list", "--json"});
    REQUIRE(result.status == 0);
    const auto variants = nlohmann::json::parse(result.out);
    REQUIRE(variants.size() == 4);
    const auto &padded = variants[2];
    CHECK(padded["name"] == "padded");
    CHECK(contains(padded["formula"], "mask = kv_pos < input<\"kv_len\", i32>[batch]"));
    const auto &arguments = padded["arguments"];
    REQUIRE(arguments.size() == 7);
    CHECK(arguments[0]["name"] == "query");
    CHECK(arguments[0]["shape"] == nlohmann::json{"batch", "2", "q_len", "8"});
    CHECK(arguments[4]["name"] == "kv_len");
    CHECK(arguments[4]["type"] == "i32");
    CHECK(arguments[4]["shape"] == nlohmann::json::array({"batch"}));
    CHECK(arguments[5]["shape"] == nlohmann::json::array({"2"}));
    REQUIRE(padded["kernels"].size() == 1);
    CHECK(padded["kernels"][0]["isa"] == "x86_64");
}

TEST_CASE("list shows kernels and tensors of caches, explain the kernel that attends") {
    const heed::kernel_library &library = fakes::library_with_cache(fakes::mistake::none);
    const auto variants = nlohmann::json::parse(run_command(library, {"list", "--json"}).out);
    for (const auto &variant : variants) {
        REQUIRE(variant["kernels"].size() == 2);
        CHECK(variant["kernels"][0]["pass"] == "append");
        CHECK(variant["kernels"][1]["pass"] == "cached");
    }
    const auto &arguments = variants[3]["arguments"];
    CHECK(arguments[1]["name"] == "key");
    CHECK(arguments[1]["shape"] == nlohmann::json{"1", "2", "tokens", "6"});
    CHECK(arguments[4]["name"] == "cache.key");
    CHECK(arguments[4]["shape"] == nlohmann::json{"pages", "2", "page_size", "6"});
    CHECK(arguments[5]["name"] == "cache.value");
    CHECK(arguments[5]["shape"] == nlohmann::json{"pages", "2", "page_size", "5"});
    const auto listed = run_command(library, {"list"});
    CHECK(contains(listed.out, "kernel fake_append_rows_f32_x86_64 (pass append"));
    CHECK(contains(listed.out, "kernel fake_cached_naive_f32_x86_64 (pass cached"));
    for (const char *variant : {"plain", "causal", "padded", "biased"}) {
        const auto explained = run_command(library, {"explain", variant, "--q", "12", "--kv", "48"});
        CHECK(explained.status == 0);
        CHECK(contains(explained.out, "kernel fake_cached_naive_f32_x86_64: tiles of "));
        CHECK_FALSE(contains(explained.out, "fake_append"));
    }
    const auto inspected = run_command(library, {"inspect", "plain"});
    CHECK(inspected.status == 1);
    CHECK(contains(inspected.err, "inspect: plain has no kernel of the pass 'weights'"));
}

TEST_CASE("list prints a rank of 0 as a number") {
    CHECK(contains(run_command(kernels(), {"list"}).out, "strength     f32 number in"));
}

TEST_CASE("devices names every kind of GPU, and only the one that it is asked for") {
    const auto all = run_command(kernels(), {"devices"});
    CHECK(all.status == 0);
    CHECK(contains(all.out, "cuda: "));
    CHECK(contains(all.out, "\nopencl: "));
    CHECK(contains(all.out, "\nvulkan: "));
    const auto one = run_command(kernels(), {"devices", "opencl"});
    CHECK(one.out.find("opencl: ") == 0);
    CHECK_FALSE(contains(one.out, "cuda"));
    // Where there is none, the reason in place of the name and the version, and a status of its own.
    CHECK(one.status == (contains(one.out, ", version ") ? 0 : 3));
    CHECK(contains(run_command(kernels(), {"devices", "--help"}).out, "the status is 3 where there is none"));
    CHECK(run_command(kernels(), {"devices", "metal"}).status > 100);
}

TEST_CASE("list and explain name log_sum_exp where weights are a softmax only") {
    heed::variant_description variant = kernels().variants[0];
    const heed::kernel_library one{"one", &variant, 1};
    const std::vector<std::string> explain{"explain", "plain", "--q", "8", "--kv", "8"};
    CHECK(contains(run_command(one, {"list"}).out, "log_sum_exp"));
    CHECK(contains(run_command(one, explain).out, "log_sum_exp"));
    variant.readings.weight_of_score = [](const heed::call_sizes &, const heed::pair_position &, double score,
                                          const heed::input_reader &) { return score * score; };
    CHECK_FALSE(contains(run_command(one, {"list"}).out, "log_sum_exp"));
    CHECK_FALSE(contains(run_command(one, explain).out, "log_sum_exp"));
}

TEST_CASE("explain shows the tiles of a causal mask") {
    // Tiles of 4 rows (8 rows of 2 heads) x 12 keys.
    const auto result = run_command(kernels(), {"explain", "causal", "--q", "12", "--kv", "48"});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "mask = q_pos >= kv_pos"));
    CHECK(contains(result.out, "    ###/\n    ###/\n    ###/\n"));
    CHECK(
        contains(result.out, "tiles: 0 empty (not run), 6 mixed (run with the mask), 18 full (run without the mask)"));
    // 4 heads x (37 + ... + 48) pairs.
    CHECK(contains(result.out, "2040"));
}

TEST_CASE("explain says why kernels of a device do not run here") {
    const fakes::library_for_missing_device missing;
    const auto explain = [&](const std::vector<std::string> &more) {
        std::vector<std::string> arguments{"explain", "plain", "--q", "12", "--kv", "48"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_command(missing.library, arguments).out;
    };
    const std::string line = "kernels for cuda_990 do not run here: ";
    CHECK(contains(explain({}), line));
    CHECK(contains(explain({"--isa", "cuda_990"}), line));
    CHECK_FALSE(contains(explain({"--isa", "x86_64"}), line));
}

TEST_CASE("explain writes the map as a picture") {
    const temporary_file picture(".png");
    CHECK(run_command(kernels(), {"explain", "causal", "--q", "100", "--kv", "100", "--png", picture.name}).status ==
          0);
    char signature[8] = {};
    std::ifstream(picture.name, std::ios::binary).read(signature, sizeof(signature));
    CHECK(std::string(signature + 1, 3) == "PNG");
}

TEST_CASE("an input can be set") {
    const auto result = run_command(kernels(), {"explain", "padded", "--q", "24", "--kv", "24", "--set", "kv_len=12"});
    CHECK(contains(result.out, "    #.\n    #.\n    #.\n"));
}

TEST_CASE("wrong arguments are named") {
    const struct {
        std::vector<std::string> arguments;
        std::string text;
    } cases[] = {
        {{"verify", "nope"}, "fakes has no variant 'nope'; it has: plain, causal, padded, biased"},
        {{"explain", "nope"}, "fakes has no variant 'nope'"},
        {{"explain"}, "name is required"},
        {{"explain", "causal", "--head", "4"}, "--head 4: causal has heads 0 to 3"},
        {{"explain", "causal", "--png", "/no/such/folder/x.png"}, "cannot write '/no/such/folder/x.png'"},
        {{"explain", "padded", "--set", "length=3"}, "padded has no input 'length'; it has: kv_len, sinks"},
        {{"explain", "padded", "--set", "kv_len"}, "'kv_len' is not NAME=NUMBER"},
        {{"explain", "padded", "--set", "kv_len=blocks:0"}, "'kv_len=blocks:0' is not NAME=NUMBER"},
        {{"explain", "padded", "--set", "kv_len=nan"}, "is i32, and nan is not a whole number of 32 bits"},
        {{"explain", "padded", "--set", "kv_len=2.5"}, "is i32, and 2.5 is not a whole number of 32 bits"},
        {{"bench", "padded", "--set", "kv_len=3e9"}, "is i32, and 3000000000 is not a whole number of 32 bits"},
        {{"bench", "--set", "length=3"},
         "the variants have no input 'length'; they have: kv_len, sinks, strength, bias"},
        {{"explain", "biased", "--set", "strength=blocks:2"}, "is a single number and has no runs"},
        {{"bench", "plain", "--sqe", "3"}, "--sqe"},
        {{"bench", "plain", "--seq", "many"}, "--seq"},
        {{"bench", "plain", "--seq", "0"}, "--seq"},
        {{"bench", "plain", "--q", "3"}, "--q requires --kv"},
        {{"bench", "plain", "--scores", "odd"}, "--scores"},
        {{"bench", "plain", "--isa", "avx2"}, "plain has no kernel for 'avx2'; it has: x86_64"},
        {{"verify", "--threads", "0"}, "--threads"},
        {{"dance"}, "there is no command 'dance'; there are: list, devices, explain, verify, bench, inspect"},
        {{}, "subcommand is required"}};
    for (const auto &wrong : cases) {
        CAPTURE(wrong.text);
        const auto result = run_command(kernels(), wrong.arguments);
        CHECK(result.status != 0);
        CHECK(contains(result.err, wrong.text));
        CHECK(result.out.empty());
    }
}
