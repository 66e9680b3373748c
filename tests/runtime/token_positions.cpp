// SPDX-License-Identifier: MIT
//
// Absolute positions added to tokens, against the formulas of the papers.
#include <doctest/doctest.h>
#include <heed/token_positions.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t batch = 2, length = 5, dim = 7, padding = 3;

/// Tokens with unused elements, which stay as they are, after each row.
struct tokens {
    std::vector<float> memory = std::vector<float>(batch * length * (dim + padding), -100.0f);

    tokens() {
        for (std::int64_t row = 0; row < batch * length; ++row) {
            for (std::int64_t d = 0; d < dim; ++d) at(row, d) = static_cast<float>(row) * 0.25f - static_cast<float>(d);
        }
    }
    float &at(std::int64_t row, std::int64_t d) { return memory[static_cast<std::size_t>(row * (dim + padding) + d)]; }
    heed::view<float, 3> view() {
        return {memory.data(), {batch, length, dim}, {length * (dim + padding), dim + padding, 1}};
    }
};

template <class Function>
std::string message_of(const Function &function) {
    try {
        function();
    } catch (const heed::invalid_argument_error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("a learned table is added row by row") {
    std::vector<float> table(9 * dim);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<float>(i) * 0.5f;
    tokens in, out;
    heed::add_learned_positions(in.view(), {table.data(), {9, dim}}, out.view(), 3);
    for (std::int64_t row = 0; row < batch * length; ++row) {
        for (std::int64_t d = 0; d < dim; ++d) {
            CHECK(out.at(row, d) == in.at(row, d) + table[static_cast<std::size_t>((3 + row % length) * dim + d)]);
        }
        for (std::int64_t d = dim; d < dim + padding; ++d) CHECK(out.at(row, d) == -100.0f);
    }
    tokens same;
    heed::add_learned_positions(same.view(), {table.data(), {9, dim}}, same.view(), 3);
    CHECK(same.memory == out.memory);
}

TEST_CASE("sines and cosines of the position") {
    for (const std::int64_t first : {0, 1, 100'000}) {
        tokens in, out;
        heed::add_sinusoidal_positions(in.view(), out.view(), first);
        for (std::int64_t row = 0; row < batch * length; ++row) {
            for (std::int64_t d = 0; d < dim; ++d) {
                const double angle = static_cast<double>(first + row % length) /
                                     std::pow(10'000.0, static_cast<double>(d / 2 * 2) / static_cast<double>(dim));
                const double expected = double{in.at(row, d)} + (d % 2 == 0 ? std::sin(angle) : std::cos(angle));
                CHECK(std::fabs(out.at(row, d) - expected) < 1e-6);
            }
        }
    }
}

TEST_CASE("what does not fit is refused and nothing is written") {
    tokens in, out;
    const tokens untouched;
    std::vector<float> table(9 * dim);
    CHECK(message_of([&] {
              heed::add_learned_positions(in.view(), {table.data(), {4, dim}}, out.view());
          }) ==
          "heed::add_learned_positions: the table has 4 positions, the call reads 0 to 4. Fix: pass a longer table or "
          "fewer tokens");
    CHECK(message_of([&] {
              heed::add_learned_positions(in.view(), {table.data(), {9, dim}}, out.view(), -1);
          }) ==
          "heed::add_learned_positions: the table has 9 positions, the call reads -1 to 3. Fix: pass a longer table or "
          "fewer tokens");
    CHECK(message_of([&] {
              heed::add_learned_positions(in.view(), {table.data(), {9, dim - 1}}, out.view());
          }) == "heed::add_learned_positions: tokens have dim 7, the table has dim 6: they must agree");
    CHECK(message_of([&] {
              heed::add_sinusoidal_positions(in.view(), {out.memory.data(), {batch, length + 1, dim}});
          }) == "heed::add_sinusoidal_positions: tokens have length 5, output has length 6: they must agree");
    CHECK(message_of([&] { heed::add_sinusoidal_positions(in.view(), out.view(), 0, -1.0); }) ==
          "heed::add_sinusoidal_positions: theta must be a positive number");
    CHECK(message_of([&] {
              heed::add_sinusoidal_positions(in.view(), {out.memory.data(), {batch, length, dim}, {0, dim, 1}});
          }) ==
          "heed::add_sinusoidal_positions: output has elements that may share memory, but each is written on its "
          "own. Fix: give output memory for every element");
    CHECK(message_of([&] {
              heed::add_sinusoidal_positions({out.memory.data(), {batch, length, dim}},
                                             {out.memory.data(), {batch, length, dim}, {dim, batch * dim, 1}});
          }) ==
          "heed::add_sinusoidal_positions: output starts where tokens do, but has other strides: it would be "
          "written while tokens are in use. Fix: give output memory of its own, or the strides of tokens");
    CHECK(out.memory == untouched.memory);
    heed::view<float, 3> none{nullptr, {0, 0, dim}};
    CHECK_NOTHROW(heed::add_sinusoidal_positions(none, none));
}
