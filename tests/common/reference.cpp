// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace heed::tests {

namespace {

double inner_product(const float *a, const float *b, std::int64_t count) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    return sum;
}

struct scored_key {
    std::int64_t key;
    double score;
};

}  // namespace

reference attention(const problem &of, const semantics &meaning) {
    const std::int64_t heads = of.heads(), q_len = of.q_len(), kv_len = of.kv_len(), head_dim = of.head_dim(),
                       value_dim = of.value_dim(), heads_per_group = heads / of.groups();
    const double scale = meaning.scale != 0 ? meaning.scale : 1 / std::sqrt(static_cast<double>(head_dim));
    reference result{tensor<double, 4>({of.batch(), heads, q_len, value_dim}),
                     tensor<double, 3>({of.batch(), heads, q_len})};

    std::vector<scored_key> visible;
    for_each_index<3>({of.batch(), heads, q_len}, [&](const index_list<3> &row_index) {
        const std::int64_t batch = row_index[0], head = row_index[1], row = row_index[2];
        const std::int64_t group = head / heads_per_group;
        const std::int64_t start = meaning.query_start ? meaning.query_start(batch) : kv_len - q_len;

        visible.clear();
        double largest = -infinity;
        for (std::int64_t key = 0; key < kv_len; ++key) {
            const pair at{batch, head, start + row, key};
            if (meaning.attends && !meaning.attends(at)) continue;
            double score =
                scale * inner_product(&of.query(batch, head, row, 0), &of.key(batch, group, key, 0), head_dim);
            if (meaning.modify) score = meaning.modify(score, at);
            visible.push_back({key, score});
            if (!(score <= largest)) largest = score;  // also if it is NaN
            if (std::isfinite(score)) result.largest_score = std::max(result.largest_score, std::fabs(score));
        }

        for (std::int64_t column = 0; column < value_dim; ++column) result.output(batch, head, row, column) = 0;
        result.log_sum_exp[row_index] = -infinity;
        if (largest == -infinity) return;  // no key is visible, or all weigh nothing

        double denominator = 0;
        if (meaning.sink) {
            const double sink = meaning.sink(batch, head);
            if (!(sink <= largest)) largest = sink;
            if (std::isfinite(sink)) result.largest_score = std::max(result.largest_score, std::fabs(sink));
            denominator += std::exp(sink - largest);
        }
        for (const auto &[key, score] : visible) denominator += std::exp(score - largest);
        for (const auto &[key, score] : visible) {
            const double weight = std::exp(score - largest) / denominator;
            for (std::int64_t column = 0; column < value_dim; ++column) {
                result.output(batch, head, row, column) +=
                    weight * static_cast<double>(of.value(batch, group, key, column));
            }
        }
        result.log_sum_exp[row_index] = largest + std::log(denominator);
    });
    return result;
}

double soft_cap(double score, double cap) { return cap * std::tanh(score / cap); }

double alibi_slope(std::int64_t head, std::int64_t heads) {
    std::int64_t power = 1;
    while (2 * power <= heads) power *= 2;
    const bool in_first_list = head < power;
    const double ratio = std::pow(2.0, -8.0 / static_cast<double>(in_first_list ? power : 2 * power));
    return std::pow(ratio, static_cast<double>(in_first_list ? head + 1 : 2 * (head - power) + 1));
}

}  // namespace heed::tests
