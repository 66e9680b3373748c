// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <nlohmann/json.hpp>

#include "command.hpp"
#include "fake_library.hpp"

namespace {

namespace fs = std::filesystem;

const heed::kernel_library &kernels() { return fakes::library_with_weights(fakes::mistake::none); }

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

// A folder that is removed at the end.
struct temporary_folder {
    temporary_file name{""};
    ~temporary_folder() { fs::remove_all(name.name); }
    fs::path operator/(const std::string &file) const { return fs::path(name.name) / file; }
};

}  // namespace

TEST_CASE("inspect writes heat maps and a report") {
    const temporary_folder folder;
    const auto result = run_command(
        kernels(), {"inspect", "causal", "--q", "10", "--kv", "12", "--batch", "2", "--output", folder.name.name});
    REQUIRE(result.status == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "4 heads, 10 queries x 12 keys, batch 2"));
    for (const char *file :
         {"head_00.png", "head_01.png", "head_02.png", "head_03.png", "heads.png", "similarity.png", "report.txt"}) {
        CAPTURE(file);
        CHECK(fs::file_size(folder / file) > 100);
    }
    const auto report = nlohmann::json::parse(std::ifstream(folder / "report.json"));
    for (const auto &head : report["heads"]) {
        CHECK(head["rows"] == 20);
        CHECK(head["row_sum"] == doctest::Approx(1.0));
        // Row 0 of queries at positions 2 to 11 sees 3 keys.
        CHECK(head["row_entropy_limit"][1][0] == doctest::Approx(std::log(3.0)));
        CHECK(head["row_entropy"][1][0] <= head["row_entropy_limit"][1][0]);
        // 2 * (3 + ... + 12) pairs are visible, and have a score.
        CHECK(head["scores"]["count"] == 150);
    }
}

TEST_CASE("a sink_logit takes its share of a row, and lengths hide keys") {
    const temporary_folder folder;
    const auto result = run_command(kernels(), {"inspect", "padded", "--seq", "8", "--set", "kv_len=1", "--set",
                                                "sinks=0", "--output", folder.name.name});
    REQUIRE(result.status == 0);
    const auto report = nlohmann::json::parse(std::ifstream(folder / "report.json"));
    CHECK(report["heads"][0]["row_sum"] < 0.99);
    CHECK(report["heads"][0]["entropy_limit"] == 0.0);
    CHECK(report["heads"][0]["collapsed"] == true);
    CHECK(report["alike"].size() == 1);
    CHECK(contains(result.out, "head 0: 100 % on key 0"));
}

TEST_CASE("tokens are labels, and give the length") {
    const temporary_folder folder;
    const temporary_file tokens(".txt");
    std::ofstream(tokens.name) << "[CLS]\nembed\r\n##ding\ncaf\u00e9\n";
    const auto result = run_command(kernels(), {"inspect", "plain", "--q", "2", "--tokens", tokens.name, "--head", "1",
                                                "--output", folder.name.name});
    REQUIRE(result.status == 0);
    const auto report = nlohmann::json::parse(std::ifstream(folder / "report.json"));
    CHECK(report["key_labels"] == nlohmann::json{"[CLS]", "embed", "##ding", "caf\u00e9"});
    CHECK(report["query_labels"] == nlohmann::json{"##ding", "caf\u00e9"});
    CHECK(fs::exists(folder / "head_01.png"));
    CHECK_FALSE(fs::exists(folder / "head_00.png"));
}

TEST_CASE("inspect refuses what it cannot do, in words") {
    const temporary_folder folder;
    const temporary_file tokens(".txt");
    std::ofstream(tokens.name) << "one\ntwo\n";
    const struct {
        std::vector<std::string> arguments;
        std::string text;
    } cases[] = {{{"nope"}, "fakes has no variant 'nope'"},
                 {{"plain", "--head", "2"}, "inspect: --head 2: plain has heads 0 to 1"},
                 {{"plain", "--entry", "1"}, "inspect: --entry 1: the batch is 1"},
                 {{"plain", "--isa", "avx2"}, "plain has no kernel for 'avx2'; it has: x86_64"},
                 {{"plain", "--seq", "3", "--tokens", tokens.name}, "has 2 tokens for 3 keys. Fix: one line per key"},
                 {{"plain", "--tokens", "/no/such/file"}, "inspect: cannot read '/no/such/file'"},
                 {{"plain", "--font", "/no/such/font"}, "cannot read the font '/no/such/font'"},
                 {{"plain", "--set", "length=3"}, "--set: plain has no input 'length'; it has none"},
                 {{"plain", "--seq", "3", "--q", "2"}, "--seq"},
                 {{"plain", "--seq", "65536", "--batch", "65536"}, "weights (65536, 2, 65536, 65536)"}};
    for (const auto &wrong : cases) {
        CAPTURE(wrong.text);
        std::vector<std::string> arguments{"inspect", "--output", folder.name.name};
        arguments.insert(arguments.end(), wrong.arguments.begin(), wrong.arguments.end());
        const auto result = run_command(kernels(), arguments);
        CHECK(result.status != 0);
        CHECK(contains(result.err, wrong.text));
        CHECK(result.out.empty());
    }
    const auto none = run_command(fakes::library(fakes::mistake::none), {"inspect", "plain"});
    CHECK(none.status == 1);
    CHECK(contains(none.err, "plain has no kernel of the pass 'weights'"));
    CHECK(contains(none.err, "Fix: PASSES forward weights in heed_add_kernels"));
}

TEST_CASE("the other commands know kernels of the pass weights") {
    const auto listed = run_command(kernels(), {"list"});
    CHECK(contains(listed.out, "kernel fake_weights_naive_f32_x86_64 (pass weights, f32, tile 8 x 12)"));
    CHECK(contains(listed.out, "weights      f32 (batch, 2, q_len, kv_len) out of calls of the pass weights, which"));
    CHECK_FALSE(contains(run_command(fakes::library(fakes::mistake::none), {"list"}).out, "pass weights"));
    CHECK(contains(run_command(kernels(), {"explain", "plain"}).out, "kernel fake_forward_naive_f32_x86_64"));

    const temporary_file json(".json");
    REQUIRE(run_command(kernels(), {"bench", "plain", "--seq", "8", "--threads", "1", "--repeat", "1", "--isa", "all",
                                    "--json", json.name})
                .status == 0);
    const auto records = nlohmann::json::parse(std::ifstream(json.name));
    REQUIRE(records.size() == 1);
    CHECK(records[0]["pass"] == "forward");
}
