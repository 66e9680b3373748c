// SPDX-License-Identifier: MIT
#include "safetensors.hpp"

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "input_error.hpp"
#include "temporary_file.hpp"

using model_files::input_error;
using model_files::safetensors_file;

namespace {

std::string with_header(const std::string &header, const std::string &data) {
    std::uint64_t size = header.size();
    std::string bytes(sizeof size, '\0');
    std::memcpy(bytes.data(), &size, sizeof size);
    return bytes + header + data;
}

std::string entry(const std::string &dtype, const std::string &shape, const std::string &offsets) {
    return R"({"x": {"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}}";
}

std::string floats(const std::vector<float> &values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
}

/// What is said of a file with these bytes.
std::string refusal_of(const std::string &bytes) {
    const temporary_file file(bytes);
    try {
        safetensors_file{file.path()};
    } catch (const input_error &problem) {
        REQUIRE(std::string(problem.what()).find(file.path().string()) == 0);
        return problem.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("a tensor is read from its place") {
    const temporary_file file(with_header(entry("F32", "[2, 2]", "[4, 20]"), floats({9, 1, 2, 3, 4})));
    safetensors_file tensors(file.path());
    CHECK(tensors.shape("x") == std::vector<std::int64_t>{2, 2});
    float values[4] = {};
    tensors.read("x", {2, 2}, values);
    CHECK(values[0] == 1);
    CHECK(values[3] == 4);
}

TEST_CASE("an unusual but valid file is read") {
    const temporary_file file(
        with_header(R"({"__metadata__": {"a": "b"}, "scalar": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]},
        "empty": {"dtype": "F32", "shape": [3, 0], "data_offsets": [4, 4]}})",
                    floats({5})));
    safetensors_file tensors(file.path());
    float value = 0;
    tensors.read("scalar", {}, &value);
    CHECK(value == 5);
    tensors.read("empty", {3, 0}, &value);
}

TEST_CASE("a broken file is refused with the reason") {
    const auto refused = [](const std::string &bytes, const std::string &why) {
        const std::string text = refusal_of(bytes);
        CAPTURE(text);
        CHECK(text.find(why) != std::string::npos);
    };
    refused("", "0 bytes are too few");
    refused("PK\3\4 not a safetensors file", "its header would have");
    refused(with_header(entry("F32", "[1]", "[0, 4]"), floats({1})).substr(0, 30), "its header would have");
    refused(with_header("{", ""), "broken safetensors header");
    refused(with_header("[1]", ""), "broken safetensors header");
    refused(with_header(R"({"x": 1})", ""), "broken safetensors header");
    refused(with_header(R"({"x": {"dtype": "F32", "shape": [1]}})", floats({1})), "data_offsets");
    refused(with_header(entry("F32", R"(["a"])", "[0, 4]"), floats({1})), "broken safetensors header");
    refused(with_header(entry("F32", "[2]", "[0, 8]"), floats({1})), "ends at byte 8 of the data, the file holds 4");
    refused(with_header(entry("F32", "[1]", "[4, 0]"), floats({1})), "[4, 0] are not a range");
    refused(with_header(entry("F32", "[1]", "[-4, 0]"), floats({1})), "are not a range");
    refused(with_header(entry("F32", "[1]", "[0]"), floats({1})), "are not a range");
    refused(with_header(entry("F32", "[1]", "[0, 18446744073709551612]"), floats({1})), "are not a range");
    refused(with_header(entry("F32", "[2]", "[0, 4]"), floats({1})), "4 bytes do not hold F32 elements of shape [2]");
    refused(with_header(entry("F32", "[-1]", "[0, 4]"), floats({1})), "do not hold");
    refused(with_header(entry("F32", "[4611686018427387904, 4, 1]", "[0, 0]"), floats({1})), "do not hold");
    refused(with_header(entry("Q4", "[1]", "[0, 4]"), floats({1})), "unknown type 'Q4'");
}

TEST_CASE("a request that the file cannot serve names both sides") {
    const temporary_file file(with_header(entry("I32", "[1]", "[0, 4]"), floats({1})));
    safetensors_file tensors(file.path());
    float value = 0;
    CHECK_THROWS_WITH_AS(tensors.read("y", {1}, &value), doctest::Contains("no tensor 'y' among its 1"), input_error);
    CHECK_THROWS_WITH_AS(tensors.read("x", {1}, &value), doctest::Contains("of type I32, F32 is needed"), input_error);

    const temporary_file matrix(with_header(entry("F32", "[2, 1]", "[0, 8]"), floats({1, 2})));
    CHECK_THROWS_WITH_AS(safetensors_file(matrix.path()).read("x", {1, 2}, &value),
                         doctest::Contains("has shape [2, 1], [1, 2] is needed"), input_error);
}

TEST_CASE("a missing file is named") {
    CHECK_THROWS_WITH_AS(safetensors_file("no/such/file"), "no/such/file: cannot be opened: No such file or directory",
                         input_error);
    CHECK_THROWS_WITH_AS(safetensors_file("."), doctest::Contains("not a regular file"), input_error);
}
