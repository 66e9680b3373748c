// SPDX-License-Identifier: MIT
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace heed::tests {

namespace {

double inner_product(const row_values &a, const row_values &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
}

row_values changed(const tensor<float, 4> &from, const place &at,
                   const std::function<void(row_values &, const place &)> &modify) {
    row_values row;
    for (std::int64_t i = 0; i < from.extents()[3]; ++i) {
        row.push_back(static_cast<double>(from(at.batch, at.head, at.row, i)));
    }
    if (modify) modify(row, at);
    return row;
}

/// Keys or values of one group.
std::vector<row_values> changed_group(const tensor<float, 4> &from, std::int64_t batch, std::int64_t group,
                                      const std::function<void(row_values &, const place &)> &modify) {
    std::vector<row_values> rows;
    for (std::int64_t key = 0; key < from.extents()[2]; ++key) {
        rows.push_back(changed(from, {batch, group, key, key}, modify));
    }
    return rows;
}

struct scored_key {
    pair at;
    double score;
};

}  // namespace

reference attention(const problem &of, const semantics &meaning) {
    const std::int64_t heads = of.heads(), q_len = of.q_len(), kv_len = of.kv_len(), value_dim = of.value_dim(),
                       heads_per_group = heads / of.groups();
    const double scale = meaning.scale != 0 ? meaning.scale : 1 / std::sqrt(static_cast<double>(of.head_dim()));
    reference result{tensor<double, 4>({of.batch(), heads, q_len, value_dim}),
                     tensor<double, 3>({of.batch(), heads, q_len})};

    std::vector<row_values> keys, values;
    std::vector<scored_key> visible;
    for_each_index<3>({of.batch(), heads, q_len}, [&](const index_list<3> &row_index) {
        const std::int64_t batch = row_index[0], head = row_index[1], row = row_index[2];
        const std::int64_t start = meaning.query_start ? meaning.query_start(batch) : kv_len - q_len;
        if (row == 0 && head % heads_per_group == 0) {
            keys = changed_group(of.key, batch, head / heads_per_group, meaning.modify_key);
            values = changed_group(of.value, batch, head / heads_per_group, meaning.modify_value);
        }
        const place query_place{batch, head, start + row, row};
        const row_values query = changed(of.query, query_place, meaning.modify_query);
        const auto store = [&](row_values output) {
            if (meaning.modify_output) meaning.modify_output(output, query_place);
            for (std::int64_t column = 0; column < value_dim; ++column) {
                result.output(batch, head, row, column) = output[static_cast<std::size_t>(column)];
            }
        };

        visible.clear();
        double largest = -infinity;
        for (std::int64_t key = 0; key < kv_len; ++key) {
            const pair at{batch, head, start + row, key, row};
            if (meaning.attends && !meaning.attends(at)) continue;
            double score = scale * inner_product(query, keys[static_cast<std::size_t>(key)]);
            if (meaning.modify) score = meaning.modify(score, at);
            visible.push_back({at, score});
            if (!(score <= largest)) largest = score;  // also if it is NaN
            if (std::isfinite(score)) result.largest_score = std::max(result.largest_score, std::fabs(score));
        }

        row_values output(static_cast<std::size_t>(value_dim), 0.0);
        result.log_sum_exp[row_index] = -infinity;
        // No key is visible, or all weigh nothing.
        if (visible.empty() || (!meaning.weight && largest == -infinity)) return store(output);

        double denominator = 0;
        if (meaning.weight) {
            denominator = 1;
        } else if (meaning.sink) {
            const double sink = meaning.sink(batch, head);
            if (!(sink <= largest)) largest = sink;
            if (std::isfinite(sink)) result.largest_score = std::max(result.largest_score, std::fabs(sink));
            denominator += std::exp(sink - largest);
        } else if (meaning.softmax1) {
            if (largest < 0) largest = 0;
            denominator += std::exp(0 - largest);
        }
        const auto weight_of = [&](const scored_key &each) {
            return meaning.weight ? meaning.weight(each.score, each.at) : std::exp(each.score - largest);
        };
        for (const scored_key &each : visible) denominator += meaning.weight ? 0 : weight_of(each);
        for (const scored_key &each : visible) {
            double weight = weight_of(each) / denominator;
            if (meaning.weight_factor) weight *= meaning.weight_factor(each.at);
            const row_values &value = values[static_cast<std::size_t>(each.at.kv)];
            for (std::size_t column = 0; column < output.size(); ++column) output[column] += weight * value[column];
        }
        store(output);
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
