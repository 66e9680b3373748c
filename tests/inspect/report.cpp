// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "matrices.hpp"

using namespace heed::inspect;
namespace fs = std::filesystem;

namespace {

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

struct temporary_folder {
    fs::path name = fs::temp_directory_path() / ("heed-inspect-test-" + std::to_string(getpid()));
    ~temporary_folder() { fs::remove_all(name); }
};

// Two layers of two heads: uniform twice, then onto key 1, then uniform.
std::vector<float> two_layers() {
    std::vector<float> numbers = uniform(4, 2, 2);
    for (const std::size_t i : {8u, 10u}) {
        numbers[i] = 0.0f;
        numbers[i + 1] = 1.0f;
    }
    return numbers;
}

}  // namespace

TEST_CASE("the report names layers, heads, tokens and shares of the run") {
    matrices layers(4, 2, 2, two_layers());
    layers.of.heads_per_layer = 2;
    layers.of.key_labels = {"[CLS]", "##ing"};
    layers.of.visible = [](auto, auto, auto, auto) { return true; };
    report_options options;
    options.cost = {{{"kernels", 0.25, 1024, true}, {"the rest", 0.75, 3072, false}}, "Counted by hand."};
    const temporary_folder folder;
    const statistics found = write_report((folder.name / "new" / "one").string(), layers.of, options);
    const std::string text = report_text(layers.of, found, {}, options.cost);
    CHECK(contains(text, "layer 1 head 0: 100 % on key 1 '##ing'"));
    CHECK(contains(text, "1.000  layer 0 head 0 and layer 0 head 1"));
    CHECK(contains(text, "(similarity of 0.90 or more): 3 pairs"));
    CHECK(contains(text, "attention takes 25.0 % of the time and 25.0 % of the memory of the run"));
    CHECK(contains(text, "Counted by hand."));

    std::vector<std::string> files;
    for (const auto &entry : fs::directory_iterator(folder.name / "new" / "one"))
        files.push_back(entry.path().filename().string());
    std::sort(files.begin(), files.end());
    CHECK(files == std::vector<std::string>{"layer_0.png", "layer_0_head_00.png", "layer_0_head_01.png", "layer_1.png",
                                            "layer_1_head_00.png", "layer_1_head_01.png", "report.json", "report.txt",
                                            "similarity.png"});
    std::ifstream in(folder.name / "new" / "one" / "report.txt");
    std::ostringstream written;
    written << in.rdbuf();
    CHECK(written.str() == text);
    const auto report = nlohmann::json::parse(std::ifstream(folder.name / "new" / "one" / "report.json"));
    CHECK(report["heads"].size() == 4);
    CHECK(report["heads"][2]["layer"] == 1);
    CHECK(report["heads"][2]["head"] == 0);
    CHECK(report["heads"][2]["collapsed"] == true);
    CHECK(report["heads"][2]["strongest_token"] == "##ing");
    CHECK(report["heads"][0]["row_entropy"][0].size() == 2);
    CHECK(report["similarity"][0][1] == doctest::Approx(1.0));
    CHECK(report["alike"].size() == 3);
    CHECK(report["run"]["attention_share_of_time"] == doctest::Approx(0.25));
}

TEST_CASE("one layer: names without it, and heat maps of the heads that were asked for") {
    matrices heads(3, 2, 2, uniform(3, 2, 2));
    report_options options;
    options.heads = {1};
    const temporary_folder folder;
    write_report(folder.name.string(), heads.of, options);
    CHECK(fs::exists(folder.name / "head_01.png"));
    CHECK_FALSE(fs::exists(folder.name / "head_00.png"));
    CHECK(fs::exists(folder.name / "heads.png"));
}

TEST_CASE("labels that are no UTF-8 do not break the JSON") {
    matrices one(1, 1, 1, {1});
    one.of.key_labels = {"\xff"};
    const auto report = nlohmann::json::parse(report_json(one.of, analyse(one.of)));
    CHECK(report["key_labels"][0] == "\ufffd");
}

TEST_CASE("matrices without rows or keys make a report") {
    const temporary_folder folder;
    const matrices no_rows(2, 0, 3, {}), no_keys(2, 3, 0, {});
    for (const matrices *none : {&no_rows, &no_keys})
        CHECK(contains(report_text(none->of, write_report(folder.name.string(), none->of)), "no row has weight"));
}

TEST_CASE("a folder that cannot be made is named") {
    const matrices one(1, 1, 1, {1});
    CHECK_THROWS_WITH_AS(write_report("/dev/null/folder", one.of), doctest::Contains("'/dev/null/folder'"),
                         std::runtime_error);
}
