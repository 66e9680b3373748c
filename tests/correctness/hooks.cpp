// SPDX-License-Identifier: MIT
//
// Modifications of rows: queries and keys before their product, values before they are weighed, results before they
// are stored; by tables of any rank, by other elements of the row, by its mean.
#include <verify.hpp>

#include "heed_hook_kernels.hpp"

#include <cmath>

using namespace heed::tests;

namespace {

double mean_of(const row_values &row) {
    double sum = 0;
    for (const double element : row) sum += element;
    return sum / static_cast<double>(row.size());
}

double mean_square(const row_values &row) {
    double sum = 0;
    for (const double element : row) sum += element * element;
    return sum / static_cast<double>(row.size());
}

void divide(row_values &row, double by) {
    for (double &element : row) element /= by;
}

void multiply(row_values &row, const tensor<float, 1> &gain) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] *= double{gain(i)};
}

void add(row_values &row, const tensor<float, 1> &shift) {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += double{shift(i)};
}

template <int Rank>
tensor<float, Rank> random_table(const index_list<Rank> &extents, std::uint64_t salt, double largest = 2) {
    tensor<float, Rank> made(extents);
    filler(salt).fill(made, largest);
    return made;
}

/// Rotary positions of rows of 8.
void rotate(row_values &row, std::int64_t position, double theta) {
    for (std::size_t i = 0; i < 4; ++i) {
        const double angle = static_cast<double>(position) * std::pow(theta, -static_cast<double>(i) / 4);
        const double a = row[i], b = row[i + 4];
        row[i] = a * std::cos(angle) - b * std::sin(angle);
        row[i + 4] = b * std::cos(angle) + a * std::sin(angle);
    }
}

const std::vector<lengths> some_lengths{{1, 1}, {1, 130}, {50, 50}, {65, 257}, {130, 140}};

}  // namespace

TEST_CASE("query_mod: by head and dim, by batch and position, by row") {
    for (const lengths &sizes : some_lengths) {
        const auto gain = random_table<2>({4, 5}, 20), shift = random_table<2>({sizes.batch, sizes.q_len}, 21);
        tensor<std::int32_t, 1> step({sizes.q_len});
        filler(22).fill(step, -2, 2);
        verify(kernels::query_changed, sizes, {gain.view(), shift.view(), step.view()},
               {.attends = causal,
                .query_start = [](std::int64_t) { return 0; },
                .modify_query =
                    [&](row_values &row, const place &at) {
                        for (std::size_t d = 0; d < row.size(); ++d) {
                            row[d] =
                                row[d] * double{gain(at.head, d)} + double{shift(at.batch, at.position)} - step(at.row);
                        }
                    }});
    }
}

TEST_CASE("key_mod: by group, position and dim, by a number, by the group itself") {
    for (const lengths &sizes : some_lengths) {
        const auto gain = random_table<3>({3, sizes.kv_len, 5}, 23);
        verify(kernels::key_changed, sizes, {gain.view(), 0.75f},
               {.attends = causal, .modify_key = [&](row_values &row, const place &at) {
                    for (std::size_t d = 0; d < row.size(); ++d) {
                        row[d] = row[d] * double{gain(at.head, at.position, d)} - 0.75 + static_cast<double>(at.head);
                    }
                }});
    }
}

TEST_CASE("value_mod: by group, by batch, position and dim; value_dim is not head_dim") {
    for (const lengths &sizes : some_lengths) {
        const auto gain = random_table<1>({2}, 24);
        tensor<std::int32_t, 3> shift({sizes.batch, sizes.kv_len, 7});
        filler(25).fill(shift, -3, 3);
        const semantics meaning{.attends = [](const pair &at) { return at.kv % 7 != 3; },
                                .modify_value =
                                    [&](row_values &row, const place &at) {
                                        for (std::size_t d = 0; d < row.size(); ++d) {
                                            row[d] = row[d] * double{gain(at.head)} + shift(at.batch, at.position, d);
                                        }
                                    }};
        verify(kernels::value_changed, sizes, {gain.view(), shift.view()}, meaning);
        // What no row sees may still hold anything.
        problem poisoned(kernels::value_changed.description(), sizes);
        for_each_index<4>(poisoned.key.extents(), [&](const auto &at) {
            if (at[2] % 7 == 3) poisoned.key[at] = not_a_number;
        });
        for_each_index<4>(poisoned.value.extents(), [&](const auto &at) {
            if (at[2] % 7 == 3) poisoned.value[at] = at[2] % 2 == 0 ? infinity : not_a_number;
        });
        verify(kernels::value_changed, poisoned, {gain.view(), shift.view()}, meaning);
    }
}

TEST_CASE("output_mod: a gate for every element of the result, on rows that see nothing too") {
    for (const lengths &sizes : {lengths{1, 1}, {50, 50}, {130, 140}, {60, 40}}) {
        const auto gate = random_table<4>({sizes.batch, 4, sizes.q_len, 3}, 26);
        verify(kernels::output_changed, sizes, {gate.view()},
               {.attends = causal, .modify_output = [&](row_values &row, const place &at) {
                    for (std::size_t d = 0; d < row.size(); ++d) {
                        row[d] = row[d] * double{gate(at.batch, at.head, at.row, d)} + 0.5;
                    }
                }});
    }
}

TEST_CASE("inputs of modifications have any strides") {
    const lengths sizes{65, 150};
    const auto gain = random_table<3>({3, 150, 5}, 27);
    const semantics meaning{.attends = causal, .modify_key = [&](row_values &row, const place &at) {
                                for (std::size_t d = 0; d < row.size(); ++d) {
                                    row[d] = row[d] * double{gain(at.head, at.position, d)} - 0.5 +
                                             static_cast<double>(at.head);
                                }
                            }};
    for (const index_list<3> &strides : {index_list<3>{1, 3, 450}, {-1000, 6, -1}, {750, -5, 1}}) {
        const auto elsewhere = gain.with_strides(strides);
        verify(kernels::key_changed, sizes, {elsewhere.view(), 0.5f}, meaning);
    }
    tensor<float, 3> for_all({3, 150, 5}, {0, 0, 2});
    filler(28).fill(for_all);
    verify(kernels::key_changed, sizes, {for_all.view(), 0.5f},
           {.attends = causal, .modify_key = [&](row_values &row, const place &at) {
                for (std::size_t d = 0; d < row.size(); ++d) {
                    row[d] = row[d] * double{for_all(0, 0, d)} - 0.5 + static_cast<double>(at.head);
                }
            }});
}

TEST_CASE("other elements of the row, and its mean") {
    const semantics meaning{.attends = causal,
                            .modify_query =
                                [](row_values &row, const place &) {
                                    const row_values old = row;
                                    for (std::size_t d = 0; d < 5; ++d) row[d] = old[4 - d] * 2;
                                },
                            .modify_key =
                                [](row_values &row, const place &) {
                                    const row_values old = row;
                                    for (std::size_t d = 0; d < 5; ++d)
                                        row[d] = d < 2 ? old[d + 1] : old[d - 2] * old[d];
                                },
                            .modify_value =
                                [](row_values &row, const place &) {
                                    const double mean = mean_of(row);
                                    for (double &element : row) element -= mean;
                                },
                            .modify_output =
                                [](row_values &row, const place &) {
                                    const row_values old = row;
                                    for (std::size_t d = 0; d < 3; ++d) {
                                        row[d] = old[(d + 1) % 3] / (std::sqrt(mean_square(old)) + 1);
                                    }
                                }};
    for (const lengths &sizes : around_tile_edges(kernels::all_changed.description())) {
        verify(kernels::all_changed, sizes, meaning);
    }
}

TEST_CASE("an index outside of the row reads its nearest element") {
    verify(kernels::beyond_the_row, {65, 130},
           {.modify_query =
                [](row_values &row, const place &) {
                    row = {row[2], row[3], row[3], row[3]};
                },
            .modify_key =
                [](row_values &row, const place &) {
                    row = {row[0], row[0], row[1], row[2]};
                }});
}

TEST_CASE("QK-norm by the root of the mean square, with gains, before the rotation") {
    const auto query_norm = random_table<1>({8}, 29), key_norm = random_table<1>({8}, 30);
    const auto normed = [&](const tensor<float, 1> &gain) {
        return [&](row_values &row, const place &at) {
            divide(row, std::sqrt(mean_square(row) + 1e-6));
            multiply(row, gain);
            rotate(row, at.position, 1e6);
        };
    };
    for (const lengths &sizes : some_lengths) {
        verify(kernels::rms_normed, sizes, {query_norm.view(), key_norm.view()},
               {.attends = causal, .modify_query = normed(query_norm), .modify_key = normed(key_norm)});
    }
    // Sizes of rows do not matter.
    problem large(kernels::rms_normed.description(), {50, 130});
    for_each_index<4>(large.query.extents(), [&](const auto &at) { large.query[at] *= 1e6f; });
    for_each_index<4>(large.key.extents(), [&](const auto &at) { large.key[at] *= 1e-2f; });
    verify(kernels::rms_normed, large, {query_norm.view(), key_norm.view()},
           {.attends = causal, .modify_query = normed(query_norm), .modify_key = normed(key_norm)});
}

TEST_CASE("QK-norm by mean and variance, with gains and shifts") {
    const auto query_gain = random_table<1>({8}, 31), query_bias = random_table<1>({8}, 32),
               key_gain = random_table<1>({8}, 33), key_bias = random_table<1>({8}, 34);
    const auto normed = [](const tensor<float, 1> &gain, const tensor<float, 1> &bias) {
        return [&](row_values &row, const place &at) {
            const double mean = mean_of(row);
            for (double &element : row) element -= mean;
            divide(row, std::sqrt(mean_square(row) + 1e-5));
            multiply(row, gain);
            add(row, bias);
            rotate(row, at.position, 1e4);
        };
    };
    for (const lengths &sizes : some_lengths) {
        verify(kernels::layer_normed, sizes, {query_gain.view(), query_bias.view(), key_gain.view(), key_bias.view()},
               {.modify_query = normed(query_gain, query_bias), .modify_key = normed(key_gain, key_bias)});
    }
}

TEST_CASE("QK-norm by mean and variance of rows far from 0") {
    const auto ones = table<float>({1, 1, 1, 1, 1, 1, 1, 1}), zeros = table<float>({0, 0, 0, 0, 0, 0, 0, 0});
    problem of(kernels::layer_normed.description(), {20, 40});
    for_each_index<4>(of.query.extents(), [&](const auto &at) { of.query[at] += 100; });
    for_each_index<4>(of.key.extents(), [&](const auto &at) { of.key[at] += 100; });
    const auto normed = [](row_values &row, const place &at) {
        const double mean = mean_of(row);
        for (double &element : row) element -= mean;
        divide(row, std::sqrt(mean_square(row) + 1e-5));
        rotate(row, at.position, 1e4);
    };
    const reference expected = attention(of, {.modify_query = normed, .modify_key = normed});
    for (const kernel_choice &which : kernels_of(kernels::layer_normed.description())) {
        const results got =
            run(kernels::layer_normed, of, {ones.view(), zeros.view(), ones.view(), zeros.view()}, which, 1);
        // Single precision leaves five digits of elements around 100 after the mean is taken away.
        const difference output = compare(got.output, expected.output, 1e-30);
        CHECK_MESSAGE(output.largest <= 1e-4, output.where);
    }
}

TEST_CASE("cosines of queries and keys, with a temperature for each head") {
    const auto temperature = table<float>({10.0f, 0.5f});
    const auto normed = [](row_values &row, const place &) {
        divide(row, std::sqrt(mean_square(row) * static_cast<double>(row.size()) + 1e-12));
    };
    for (const lengths &sizes : some_lengths) {
        verify(kernels::unit_normed, sizes, {temperature.view()},
               {.modify = [&](double score, const pair &at) { return score * double{temperature(at.head)}; },
                .scale = 1,
                .modify_query = normed,
                .modify_key = normed});
    }
}

TEST_CASE("NaN goes through modifications to the rows that see it") {
    const auto ones = table<float>({1, 1, 1, 1, 1, 1, 1, 1});
    const auto none = [](row_values &row, const place &at) {
        divide(row, std::sqrt(mean_square(row) + 1e-6));
        rotate(row, at.position, 1e6);
    };
    problem of(kernels::rms_normed.description(), {100, 150});
    of.query(0, 1, 70, 3) = not_a_number;
    of.key(1, 0, 120, 5) = not_a_number;
    of.value(1, 1, 60, 2) = not_a_number;
    verify(kernels::rms_normed, of, {ones.view(), ones.view()},
           {.attends = causal, .modify_query = none, .modify_key = none});
}
