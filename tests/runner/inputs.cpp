// SPDX-License-Identifier: MIT
#include "inputs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "fake_library.hpp"

using namespace heed::runner;

TEST_CASE("runs of equal length along the last dimension") {
    const heed::variant_description &biased = fakes::library(fakes::mistake::none).variants[3];
    const input_tables inputs(biased, {1, 8, 8}, integer_fill::lengths, 1,
                              {{"bias", {0.0, 4}}, {"strength", {2.5, 0}}});
    const std::vector<float> &bias = inputs.tables()[1].reals;
    REQUIRE(inputs.tables()[1].shape.extents == std::vector<std::int64_t>{2, 8});
    const std::vector<float> row{0, 0, 1, 1, 2, 2, 3, 3};
    CHECK(std::vector<float>(bias.begin(), bias.begin() + 8) == row);
    CHECK(std::vector<float>(bias.begin() + 8, bias.begin() + 16) == row);
    CHECK(inputs.tables()[0].reals[0] == 2.5f);
}
