// SPDX-License-Identifier: MIT
//
// Rotary positions: which elements make a pair, and what each pair turns by, from the formulas of the papers and of the
// code that their authors published.
#include <verify.hpp>

#include "heed_hook_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

using namespace heed::tests;

namespace {

constexpr double pi = 3.141592653589793238462643383279502884;

/// Radians that each pair turns by from one position to the next.
using frequencies = std::vector<double>;

enum class layout { half_split, interleaved };

/// Su et al. 2021, section 3.2.2: pair i turns by position * theta^(-2 i / dims).
frequencies plain(double theta, int dims) {
    frequencies all;
    for (int i = 0; i < dims / 2; ++i) all.push_back(std::pow(theta, -2.0 * i / dims));
    return all;
}

/// Turns the pairs of a row by one angle each: (a, b) becomes (a cos - b sin, a sin + b cos).
void turn(row_values &row, layout how, const std::vector<double> &angles) {
    const std::size_t pairs = angles.size();
    for (std::size_t i = 0; i < pairs; ++i) {
        double &a = row[how == layout::half_split ? i : 2 * i];
        double &b = row[how == layout::half_split ? i + pairs : 2 * i + 1];
        const double old_a = a, old_b = b;
        a = old_a * std::cos(angles[i]) - old_b * std::sin(angles[i]);
        b = old_a * std::sin(angles[i]) + old_b * std::cos(angles[i]);
    }
}

std::function<void(row_values &, const place &)> turned(const frequencies &of, layout how, double factor = 1) {
    return [=](row_values &row, const place &at) {
        std::vector<double> angles;
        for (const double frequency : of) angles.push_back(static_cast<double>(at.position) * frequency);
        turn(row, how, angles);
        for (double &element : row) element *= factor;
    };
}

semantics with_rope(const frequencies &of, layout how = layout::half_split, double factor = 1) {
    return {.modify_query = turned(of, how, factor), .modify_key = turned(of, how, factor)};
}

semantics causal_with_rope(const frequencies &of, layout how = layout::half_split) {
    semantics meaning = with_rope(of, how);
    meaning.attends = causal;
    return meaning;
}

const std::vector<lengths> some_lengths{{1, 1}, {47, 47}, {1, 130}, {130, 257}, {70, 30}};

}  // namespace

TEST_CASE("rope turns the first half of a row with the second") {
    for (const lengths &sizes : around_tile_edges(kernels::rope_half.description())) {
        verify(kernels::rope_half, sizes, causal_with_rope(plain(10000, 8)));
    }
}

TEST_CASE("rope, interleaved: neighbours make a pair; a theta of one's own") {
    for (const lengths &sizes : some_lengths) {
        verify(kernels::rope_pairs, sizes, with_rope(plain(100, 6), layout::interleaved));
    }
}

TEST_CASE("rope turns the first dims of a row and leaves the others") {
    for (const lengths &sizes : some_lengths) {
        verify(kernels::rope_partial, sizes, causal_with_rope(plain(1000, 6)));
        verify(kernels::rope_partial_pairs, sizes, causal_with_rope(plain(10000, 4), layout::interleaved));
    }
}

TEST_CASE("rope: one pair, by hand") {
    // Every key is the unit vector along the first element, so after turning, the score is cos of the distance.
    problem of(kernels::rope_half.description(), {1, 4, 1});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] = at[3] == 0 ? 1 : 0; });
    for_each_index<4>(of.key.extents(), [&](const auto &at) { of.key[at] = at[3] == 0 ? 1 : 0; });
    double sum = 0;
    for (int distance = 0; distance < 4; ++distance) sum += std::exp(std::cos(distance) / std::sqrt(8.0));
    for (const kernel_choice &which : kernels_of(kernels::rope_half.description())) {
        const results got = run(kernels::rope_half, of, {}, which, 1);
        CHECK(got.log_sum_exp(0, 0, 0) == doctest::Approx(std::log(sum)));
    }
}

TEST_CASE("linear scaling divides positions (Chen et al. 2023, section 2.3)") {
    frequencies scaled = plain(10000, 16);
    for (double &frequency : scaled) frequency /= 4;
    for (const lengths &sizes : some_lengths) verify(kernels::rope_linear, sizes, with_rope(scaled));
}

TEST_CASE("NTK-aware scaling changes theta (Peng et al. 2023, definition 1)") {
    const double theta = 10000 * std::pow(8.0, 16.0 / (16 - 2));
    // It stretches the slowest pair by the factor and leaves the fastest.
    CHECK(plain(theta, 16).front() == 1);
    CHECK(plain(theta, 16).back() == doctest::Approx(plain(10000, 16).back() / 8));
    for (const lengths &sizes : some_lengths) verify(kernels::rope_ntk, sizes, with_rope(plain(theta, 16)));
}

TEST_CASE("YaRN slows the slow pairs down and multiplies (Peng et al. 2023, sections 3.2 to 3.4)") {
    const double factor = 16, length = 512, beta_fast = 32, beta_slow = 1;
    const int dims = 32;
    // As in the authors' code: the ramp runs over the numbers of pairs, between those that make these many turns.
    const auto pair_of = [&](double turns) {
        return dims * std::log(length / (turns * 2 * pi)) / (2 * std::log(10000.0));
    };
    const double first = std::max(std::floor(pair_of(beta_fast)), 0.0);
    const double last = std::min(std::ceil(pair_of(beta_slow)), dims - 1.0);
    frequencies scaled = plain(10000, dims);
    for (std::size_t i = 0; i < scaled.size(); ++i) {
        const double turns = length * scaled[i] / (2 * pi);
        const double slowed = std::clamp((static_cast<double>(i) - first) / (last - first), 0.0, 1.0);
        scaled[i] = scaled[i] / factor * slowed + scaled[i] * (1 - slowed);
        // The paper, equation 13: pairs of more than beta_fast turns stay, those of less than beta_slow are divided.
        if (turns > beta_fast * 2) CHECK(slowed == 0);
        if (turns < beta_slow / 2) CHECK(slowed == 1);
    }
    const double attention = 0.1 * std::log(factor) + 1;
    for (const lengths &sizes : some_lengths) {
        verify(kernels::rope_yarn, sizes, with_rope(scaled, layout::half_split, attention));
    }
}

TEST_CASE("LLaMA 3.1's scaling: short waves stay, long ones are stretched") {
    const double factor = 8, low = 1, high = 4, length = 8192;
    frequencies scaled = plain(500000, 32);
    int kept = 0, stretched = 0;
    for (double &frequency : scaled) {
        const double wave = 2 * pi / frequency;
        if (wave < length / high) {
            ++kept;
        } else if (wave > length / low) {
            frequency /= factor;
            ++stretched;
        } else {
            const double smooth = (length / wave - low) / (high - low);
            frequency = (1 - smooth) * frequency / factor + smooth * frequency;
        }
    }
    CHECK(kept > 0);
    CHECK(stretched > 0);
    CHECK(kept + stretched < 16);
    for (const lengths &sizes : some_lengths) verify(kernels::rope_llama3, sizes, with_rope(scaled));
}

TEST_CASE("queries at position 100000 and beyond") {
    const std::vector<std::int32_t> starts{100000, 1000003, -100000, 0};
    const auto start_table = table(starts);
    semantics meaning = with_rope(plain(10000, 16));
    meaning.query_start = [&](std::int64_t batch) { return starts[static_cast<std::size_t>(batch)]; };
    for (const std::int64_t q_len : {1, 50, 130}) {
        verify(kernels::rope_far, lengths{q_len, 150, 4}, {start_table.view()}, meaning);
    }
}

TEST_CASE("keys at position 100000") { verify(kernels::rope_half, {2, 100001, 1}, causal_with_rope(plain(10000, 8))); }

TEST_CASE("angles from a table: a row for each position") {
    for (const layout how : {layout::half_split, layout::interleaved}) {
        const bool is_split = how == layout::half_split;
        tensor<float, 2> angles({150, is_split ? 3 : 2});
        filler(12).fill(angles, 20);
        semantics meaning;
        meaning.modify_query = meaning.modify_key = [&](row_values &row, const place &at) {
            std::vector<double> of_row;
            for (std::int64_t pair = 0; pair < angles.extents()[1]; ++pair) of_row.push_back(angles(at.position, pair));
            turn(row, how, of_row);
        };
        for (const lengths &sizes : {lengths{1, 1}, {65, 130}, {150, 150}}) {
            if (is_split) {
                meaning.attends = causal;
                verify(kernels::rope_by_table, sizes, {angles.view()}, meaning);
            } else {
                meaning.query_start = [](std::int64_t) { return 0; };
                verify(kernels::rope_by_table_pairs, sizes, {angles.view()}, meaning);
            }
        }
    }
}
