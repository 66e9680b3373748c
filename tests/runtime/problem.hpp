// SPDX-License-Identifier: MIT
//
// Tensors for one call of the fake kernels, and the answer computed from the views alone with 64-bit offsets.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "fake_kernels.hpp"

constexpr float untouched = -12345.0f;

/// Reproducible numbers in [-1, 1).
inline std::vector<float> some_numbers(std::int64_t count, unsigned seed) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    for (float &number : numbers) {
        seed = seed * 1664525u + 1013904223u;
        number = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
    }
    return numbers;
}

template <typename T, int Rank, typename... Position>
T &element(const heed::view<T, Rank> &view, Position... position) {
    const std::int64_t positions[] = {std::int64_t{position}...};
    std::int64_t offset = 0;
    for (int i = 0; i < Rank; ++i) {
        offset += positions[i] * view.strides()[i];
    }
    return view.data()[offset];
}

struct problem {
    std::int64_t batch, heads, groups, q_len, kv_len, dim, value_dim;
    std::vector<float> q, k, v, o, lse, sink_values;
    std::vector<std::int32_t> document_values;
    heed::view<const float, 4> query, key, value;
    heed::view<float, 4> output;
    heed::view<float, 3> log_sum_exp;
    models::local_capped_inputs inputs;

    problem(std::int64_t batch, std::int64_t heads, std::int64_t groups, std::int64_t q_len, std::int64_t kv_len,
            std::int64_t dim, std::int64_t value_dim)
        : batch(batch),
          heads(heads),
          groups(groups),
          q_len(q_len),
          kv_len(kv_len),
          dim(dim),
          value_dim(value_dim),
          q(some_numbers(batch * heads * q_len * dim, 1)),
          k(some_numbers(batch * groups * kv_len * dim, 2)),
          v(some_numbers(batch * groups * kv_len * value_dim, 3)),
          o(static_cast<std::size_t>(batch * heads * q_len * value_dim), untouched),
          lse(static_cast<std::size_t>(batch * heads * q_len), untouched),
          sink_values(some_numbers(heads, 4)),
          document_values(static_cast<std::size_t>(batch * kv_len)),
          query(q.data(), {batch, heads, q_len, dim}),
          key(k.data(), {batch, groups, kv_len, dim}),
          value(v.data(), {batch, groups, kv_len, value_dim}),
          output(o.data(), {batch, heads, q_len, value_dim}),
          log_sum_exp(lse.data(), {batch, heads, q_len}) {
        for (std::size_t i = 0; i < document_values.size(); ++i) {
            document_values[i] = static_cast<std::int32_t>(i / 3);
        }
        inputs = {heed::view<const float, 1>{sink_values.data(), {heads}},
                  heed::view<const std::int32_t, 2>{document_values.data(), {batch, kv_len}}, 1.5f};
    }

    static problem local_capped(std::int64_t batch, std::int64_t q_len, std::int64_t kv_len) {
        return {batch, 16, 8, q_len, kv_len, 4, 3};
    }
    static problem mha(std::int64_t batch, std::int64_t q_len, std::int64_t kv_len) {
        return {batch, 2, 2, q_len, kv_len, 4, 4};
    }

    bool nothing_written() const {
        for (const std::vector<float> *results : {&o, &lse}) {
            for (const float result : *results) {
                if (result != untouched) {
                    return false;
                }
            }
        }
        return true;
    }

    /// Largest difference between output (and log_sum_exp if given) and the answer.
    double error(bool with_inputs, bool with_log_sum_exp = false) const {
        double worst = 0;
        for (std::int64_t b = 0; b < batch; ++b) {
            for (std::int64_t h = 0; h < heads; ++h) {
                for (std::int64_t row = 0; row < q_len; ++row) {
                    const std::int64_t group = h / (heads / groups), q_pos = kv_len - q_len + row;
                    double sum = with_inputs ? std::exp(double{element(inputs.sinks, h)}) : 0;
                    std::vector<double> answer(static_cast<std::size_t>(value_dim));
                    for (std::int64_t j = 0; j < kv_len; ++j) {
                        if (with_inputs &&
                            (j > q_pos || element(inputs.documents, b, j) != element(inputs.documents, b, q_pos))) {
                            continue;
                        }
                        double score = 0;
                        for (std::int64_t d = 0; d < dim; ++d) {
                            score += double{element(query, b, h, row, d)} * element(key, b, group, j, d);
                        }
                        const double weight = std::exp(score * 0.5 * (with_inputs ? inputs.temperature.value() : 1));
                        sum += weight;
                        for (std::int64_t d = 0; d < value_dim; ++d) {
                            answer[static_cast<std::size_t>(d)] += weight * element(value, b, group, j, d);
                        }
                    }
                    for (std::int64_t d = 0; d < value_dim; ++d) {
                        const double expected = sum > 0 ? answer[static_cast<std::size_t>(d)] / sum : 0;
                        worst = larger(worst, std::abs(expected - element(output, b, h, row, d)));
                    }
                    if (with_log_sum_exp) {
                        const double got = element(log_sum_exp, b, h, row);
                        const double expected = std::log(sum);
                        worst = larger(worst, expected == got ? 0 : std::abs(expected - got));
                    }
                }
            }
        }
        return worst;
    }

  private:
    static double larger(double worst, double next) { return next <= worst ? worst : next; }  // keeps NaN
};
