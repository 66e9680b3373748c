// SPDX-License-Identifier: MIT
#include "oracle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "parallel.hpp"
#include "random.hpp"

namespace heed::runner {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Several sums, so that the compiler may use vectors without changing the order of additions.
double dot(const double *a, const double *b, int count) {
    double sums[8] = {};
    int i = 0;
    for (; i + 8 <= count; i += 8)
        for (int j = 0; j < 8; ++j) sums[j] += a[i + j] * b[i + j];
    double rest = 0.0;
    for (; i < count; ++i) rest += a[i] * b[i];
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) + rest;
}

std::vector<double> rows_in_double(const tensor &from, std::int64_t batch, std::int64_t head) {
    const std::int64_t length = from.shape.extents[2], dim = from.shape.extents[3];
    std::vector<double> result(static_cast<std::size_t>(length * dim));
    for (std::int64_t i = 0; i < length; ++i) std::copy_n(from.row(batch, head, i), dim, result.data() + i * dim);
    return result;
}

using row_change = void (*)(const call_sizes &, const row_position &, double *row, const input_reader &);

// All rows of a head as they take part in the computation.
std::vector<double> changed_rows(const problem &of, const tensor &from, std::int64_t batch, std::int64_t head,
                                 row_change change) {
    std::vector<double> rows = rows_in_double(from, batch, head);
    const std::int64_t length = from.shape.extents[2], dim = from.shape.extents[3];
    for (std::int64_t i = 0; change != nullptr && i < length; ++i)
        change(of.sizes, {batch, head, i}, rows.data() + i * dim, of.inputs.reader());
    return rows;
}

// The rows that share one head of keys and values: [first, last) of the expectation's rows.
struct row_group {
    std::size_t first, last;
};

class group_oracle {
  public:
    group_oracle(const problem &of, const row_address &any)
        : of_(of),
          group_(any.head / of.heads_per_group()),
          keys_(changed_rows(of, of.key, any.batch, group_, of.variant->readings.modify_key)),
          values_(changed_rows(of, of.value, any.batch, group_, of.variant->readings.modify_value)),
          start_(of.variant->readings.query_start(of.sizes, any.batch, of.inputs.reader())) {
        const int dim = of.variant->head_dim;
        for (std::int64_t key = 0; key < of.sizes.kv_len; ++key) {
            const double *row = keys_.data() + key * dim;
            key_norms_.push_back(std::sqrt(dot(row, row, dim)));
        }
    }

    void fill(expectation &result, std::size_t index) {
        const row_address &address = result.rows[index];
        const variant_description &variant = *of_.variant;
        const input_reader reader = of_.inputs.reader();
        visible_.clear();
        scores_.clear();
        const float *query = of_.query.row(address.batch, address.head, address.row);
        query_.assign(query, query + variant.head_dim);
        const row_position place{address.batch, address.head, address.row};
        const variant_readings &readings = variant.readings;
        if (readings.modify_query != nullptr) readings.modify_query(of_.sizes, place, query_.data(), reader);

        // A product of random signs is about this times the norm of the key; so are its partial sums.
        const double typical = variant.scale * std::sqrt(dot(query_.data(), query_.data(), variant.head_dim) /
                                                         static_cast<double>(variant.head_dim));
        double largest = -infinity;
        bool not_a_number = false;
        for (std::int64_t key = 0; key < of_.sizes.kv_len; ++key) {
            const pair_position pair{address.batch, address.head, start_ + address.row, key};
            if (!variant.readings.attends(of_.sizes, pair, reader)) continue;
            const double product = dot(query_.data(), keys_.data() + key * variant.head_dim, variant.head_dim);
            const double score = variant.readings.modified_score(of_.sizes, pair, variant.scale * product, reader);
            visible_.push_back({key, std::max({std::fabs(score), std::fabs(variant.scale * product),
                                               typical * key_norms_[static_cast<std::size_t>(key)]})});
            scores_.push_back(score);
            largest = std::max(largest, score);
            not_a_number = not_a_number || std::isnan(score);
        }

        const bool weights_only = result.what == computed::weights;
        double *values = result.values.data() + index * static_cast<std::size_t>(result.columns);
        std::fill_n(values, result.columns, 0.0);
        magnitudes_.assign(static_cast<std::size_t>(variant.value_dim), 0.0);
        if (visible_.empty()) {
            if (!weights_only && readings.modify_output != nullptr)
                readings.modify_output(of_.sizes, place, values, reader);
            result.log_sum_exp[index] = -infinity;
            result.score_magnitude[index] = 0.0;
            return;
        }
        double denominator = 0.0;
        if (variant.readings.sink_logit != nullptr) {
            const double sink = variant.readings.sink_logit(of_.sizes, address.batch, address.head, reader);
            largest = std::max(largest, sink);
            denominator = std::exp(sink - largest);
        }
        if (not_a_number) largest = std::numeric_limits<double>::quiet_NaN();
        const bool is_softmax = readings.weight_of_score == nullptr;
        double magnitude = 0.0, of_keys = 0.0, largest_weight = 0.0, largest_effect = 0.0;
        for (std::size_t i = 0; i < visible_.size(); ++i) {
            // In a softmax a score of -inf is a weight of 0, also where no score is larger.
            const pair_position pair{address.batch, address.head, start_ + address.row, visible_[i].key};
            double weight = !is_softmax               ? readings.weight_of_score(of_.sizes, pair, scores_[i], reader)
                            : scores_[i] == -infinity ? 0.0
                                                      : std::exp(scores_[i] - largest);
            denominator += weight;
            of_keys += weight;
            magnitude += weight > 0.0 ? weight * visible_[i].magnitude : 0.0;
            largest_weight = std::max(largest_weight, weight);
            largest_effect = std::max(largest_effect, weight * visible_[i].magnitude);
            if (readings.weight_factor != nullptr && weight != 0.0)
                weight *= readings.weight_factor(of_.sizes, pair, reader);
            if (weights_only) {
                values[visible_[i].key] = weight;
                continue;
            }
            const double *row = values_.data() + visible_[i].key * variant.value_dim;
            for (int d = 0; d < variant.value_dim; ++d) {
                values[d] += weight * row[d];
                magnitudes_[d] += std::fabs(weight * row[d]);
            }
        }
        // Nothing weighs anything where all scores are -inf.
        const double normaliser = is_softmax && denominator != 0.0 ? denominator : 1.0;
        for (std::int64_t d = 0; d < result.columns; ++d) values[d] /= normaliser;
        if (!weights_only && readings.modify_output != nullptr)
            readings.modify_output(of_.sizes, place, values, reader);
        else
            result.value_magnitude[index] = *std::max_element(magnitudes_.begin(), magnitudes_.end()) / normaliser;
        result.log_sum_exp[index] = std::log(denominator) + largest;
        result.score_magnitude[index] = of_keys > 0.0 ? magnitude / of_keys : 0.0;
        // An output is a mean, which the errors of single weights hardly move; here they show.
        if (weights_only && largest_weight > 0.0)
            result.score_magnitude[index] = std::max(result.score_magnitude[index], largest_effect / largest_weight);
    }

  private:
    struct visible_key {
        std::int64_t key;
        double magnitude;
    };

    const problem &of_;
    std::int64_t group_;
    std::vector<double> keys_, values_, key_norms_, query_, magnitudes_;
    std::int64_t start_;
    std::vector<visible_key> visible_;
    std::vector<double> scores_;
};

std::vector<std::int64_t> all_of(std::int64_t count) {
    std::vector<std::int64_t> result(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) result[static_cast<std::size_t>(i)] = i;
    return result;
}

std::vector<std::int64_t> sample(std::int64_t count, std::int64_t tile, std::size_t at_most) {
    if (static_cast<std::size_t>(count) <= at_most) return all_of(count);
    std::set<std::int64_t> chosen{0, count - 1};
    const auto offer = [&](std::int64_t i) {
        if (i >= 0 && i < count && chosen.size() < at_most) chosen.insert(i);
    };
    for (std::int64_t edge = tile; edge < count; edge += tile) {
        offer(edge - 1);
        offer(edge);
    }
    offer(1);
    random_source random(static_cast<std::uint64_t>(count));
    while (chosen.size() < at_most) offer(random.integer(0, count - 1));
    return {chosen.begin(), chosen.end()};
}

}  // namespace

std::vector<row_address> choose_rows(const problem &of, std::int64_t row_tile, std::int64_t pair_limit) {
    const auto &[batch, q_len, kv_len] = of.sizes;
    const std::int64_t heads = of.variant->heads;
    const std::int64_t keys = std::max<std::int64_t>(kv_len, 1);
    const std::int64_t row_budget = std::max<std::int64_t>(pair_limit / keys / std::max<std::int64_t>(batch, 1), 64);
    // Two heads of each of two groups at least; the edges of the groups come first.
    const std::int64_t head_budget = std::max<std::int64_t>(row_budget / std::max<std::int64_t>(q_len, 1), 4);
    const auto some_heads = sample(heads, of.heads_per_group(), static_cast<std::size_t>(head_budget));
    const auto some_rows = sample(q_len, row_tile,
                                  static_cast<std::size_t>(std::max<std::int64_t>(
                                      row_budget / static_cast<std::int64_t>(some_heads.size()), 16)));
    std::vector<row_address> result;
    for (std::int64_t b = 0; b < batch; ++b)
        for (const std::int64_t head : some_heads)
            for (const std::int64_t row : some_rows) result.push_back({b, head, row});
    return result;
}

expectation expect(const problem &of, std::vector<row_address> rows, computed what) {
    expectation result;
    result.what = what;
    result.columns = what == computed::weights ? of.sizes.kv_len : of.variant->value_dim;
    result.rows = std::move(rows);
    const std::size_t count = result.rows.size();
    result.values.resize(count * static_cast<std::size_t>(result.columns));
    result.log_sum_exp.resize(count);
    result.score_magnitude.resize(count);
    result.value_magnitude.resize(count);

    // Runs of rows with the same keys, cut so that every core has work.
    constexpr std::size_t longest_run = 128;
    std::vector<row_group> runs;
    const auto shared = [&](std::size_t i) {
        return std::pair(result.rows[i].batch, result.rows[i].head / of.heads_per_group());
    };
    for (std::size_t first = 0; first < count;) {
        std::size_t last = first + 1;
        while (last < count && last - first < longest_run && shared(last) == shared(first)) ++last;
        runs.push_back({first, last});
        first = last;
    }
    parallel_for(static_cast<std::int64_t>(runs.size()), [&](std::int64_t r) {
        const row_group &run = runs[static_cast<std::size_t>(r)];
        group_oracle oracle(of, result.rows[run.first]);
        for (std::size_t i = run.first; i < run.last; ++i) oracle.fill(result, i);
    });
    for (const double value : result.values) result.largest = std::max(result.largest, std::fabs(value));
    return result;
}

bool sees(const problem &of, const row_address &address, std::int64_t key) {
    const variant_readings &readings = of.variant->readings;
    const input_reader reader = of.inputs.reader();
    const std::int64_t start = readings.query_start(of.sizes, address.batch, reader);
    return readings.attends(of.sizes, {address.batch, address.head, start + address.row, key}, reader);
}

}  // namespace heed::runner
