// SPDX-License-Identifier: MIT
#include <heed/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "rows.hpp"

namespace heed::inspect {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr int score_bins = 20;

double entropy_of(const std::vector<double> &shares) {
    double entropy = 0.0;
    for (const double share : shares)
        if (share > 0.0) entropy -= share * std::log(share);
    return entropy;
}

std::size_t bin_of(double magnitude) {
    if (magnitude == 0.0) return 0;
    const auto bound = std::lower_bound(weight_bounds.begin(), weight_bounds.end(), magnitude);
    return static_cast<std::size_t>(bound - weight_bounds.begin()) + 1;
}

// A mean of values of which some are left out.
struct mean {
    double sum = 0.0;
    std::int64_t count = 0;

    void add(double value) {
        sum += value;
        ++count;
    }
    double value() const { return count > 0 ? sum / static_cast<double>(count) : 0.0; }
};

// The rows of one head so far.
struct head_sums {
    mean entropy, limit, row_sum, first_token, diagonal, previous_token;
    std::vector<double> of_key;
};

// One row of one head: what share of its weight each key has.
struct row_shares {
    std::vector<double> shares;
    std::vector<bool> visible;
    double entropy = 0.0;
    bool counts = false;
};

class analysis {
  public:
    analysis(const attention &of, const thresholds &limits) : of_(of), limits_(limits) {
        const auto &extents = of.weights.extents();
        found_.batch = extents[0];
        found_.heads = extents[1];
        found_.q_len = extents[2];
        found_.kv_len = extents[3];
        const auto heads = static_cast<std::size_t>(found_.heads), keys = static_cast<std::size_t>(found_.kv_len);
        found_.head.resize(heads);
        found_.row_entropy.assign(static_cast<std::size_t>(found_.batch * found_.heads * found_.q_len), not_a_number);
        found_.row_entropy_limit = found_.row_entropy;
        divergence_.resize(heads * heads);
        sums_.resize(heads);
        for (head_sums &sums : sums_) sums.of_key.assign(keys, 0.0);
    }

    statistics run() {
        std::vector<row_shares> rows(static_cast<std::size_t>(found_.heads));
        for (std::int64_t b = 0; b < found_.batch; ++b)
            for (std::int64_t row = 0; row < found_.q_len; ++row) {
                for (std::int64_t h = 0; h < found_.heads; ++h) add_row(b, h, row, rows[static_cast<std::size_t>(h)]);
                compare(rows);
            }
        for (std::int64_t h = 0; h < found_.heads; ++h) finish(h);
        finish_similarity();
        return std::move(found_);
    }

  private:
    void add_row(std::int64_t batch, std::int64_t head, std::int64_t row, row_shares &into) {
        head_statistics &statistics = found_.head[static_cast<std::size_t>(head)];
        const auto keys = static_cast<std::size_t>(found_.kv_len);
        into.shares.assign(keys, 0.0);
        into.visible.assign(keys, false);
        into.counts = false;
        double sum = 0.0, magnitude = 0.0;
        std::int64_t visible = 0;
        bool finite = true;
        for (std::size_t k = 0; k < keys; ++k) {
            const auto key = static_cast<std::int64_t>(k);
            const double weight = weight_at(of_, batch, head, row, key);
            if (!is_visible(of_, batch, head, row, key)) continue;
            into.visible[k] = true;
            into.shares[k] = std::fabs(weight);
            ++visible;
            sum += weight;
            magnitude += std::fabs(weight);
            finite = finite && std::isfinite(weight);
        }
        if (!finite) {
            ++statistics.bad_rows;
            return;
        }
        for (std::size_t k = 0; k < keys; ++k)
            if (into.visible[k]) ++statistics.weights[bin_of(into.shares[k])];
        if (magnitude == 0.0) {
            ++statistics.empty_rows;
            return;
        }
        for (double &share : into.shares) share /= magnitude;
        into.entropy = entropy_of(into.shares);
        into.counts = true;

        const auto at = static_cast<std::size_t>((batch * found_.heads + head) * found_.q_len + row);
        found_.row_entropy[at] = into.entropy;
        found_.row_entropy_limit[at] = std::log(static_cast<double>(visible));
        const bool first = statistics.rows++ == 0;
        statistics.lowest_entropy = first ? into.entropy : std::min(statistics.lowest_entropy, into.entropy);
        statistics.highest_entropy = first ? into.entropy : std::max(statistics.highest_entropy, into.entropy);
        head_sums &sums = sums_[static_cast<std::size_t>(head)];
        sums.entropy.add(into.entropy);
        sums.limit.add(found_.row_entropy_limit[at]);
        sums.row_sum.add(sum);
        for (std::size_t k = 0; k < keys; ++k) sums.of_key[k] += into.shares[k];
        sums.first_token.add(into.shares[0]);
        const std::int64_t position = start_of(of_, batch) + row;
        add_if_visible(into, position, sums.diagonal);
        add_if_visible(into, position - 1, sums.previous_token);
    }

    void add_if_visible(const row_shares &row, std::int64_t key, mean &into) const {
        if (key < 0 || key >= found_.kv_len || !row.visible[static_cast<std::size_t>(key)]) return;
        into.add(row.shares[static_cast<std::size_t>(key)]);
    }

    // The same row of all heads.
    void compare(const std::vector<row_shares> &rows) {
        std::vector<double> middle;
        for (std::size_t a = 0; a < rows.size(); ++a)
            for (std::size_t b = a + 1; b < rows.size(); ++b) {
                if (!rows[a].counts || !rows[b].counts) continue;
                middle.resize(rows[a].shares.size());
                for (std::size_t k = 0; k < middle.size(); ++k)
                    middle[k] = 0.5 * (rows[a].shares[k] + rows[b].shares[k]);
                const double divergence = entropy_of(middle) - 0.5 * (rows[a].entropy + rows[b].entropy);
                divergence_[a * rows.size() + b].add(std::max(divergence, 0.0));
            }
    }

    void finish(std::int64_t head) {
        head_statistics &statistics = found_.head[static_cast<std::size_t>(head)];
        const head_sums &sums = sums_[static_cast<std::size_t>(head)];
        statistics.entropy = sums.entropy.value();
        statistics.entropy_limit = sums.limit.value();
        statistics.row_sum = sums.row_sum.value();
        statistics.first_token = sums.first_token.value();
        statistics.diagonal = sums.diagonal.value();
        statistics.previous_token = sums.previous_token.value();
        if (statistics.rows > 0) {
            const auto strongest = std::max_element(sums.of_key.begin(), sums.of_key.end());
            statistics.strongest_key = strongest - sums.of_key.begin();
            statistics.strongest_share = *strongest / static_cast<double>(statistics.rows);
            statistics.collapsed = statistics.strongest_share >= limits_.collapsed;
        }
        if (of_.log_sum_exp.given()) add_scores(head, statistics.scores);
    }

    template <typename Use>
    void for_each_score(std::int64_t head, const Use &use) const {
        for (std::int64_t b = 0; b < found_.batch; ++b)
            for (std::int64_t row = 0; row < found_.q_len; ++row) {
                const auto &strides = of_.log_sum_exp.strides();
                const double lse = of_.log_sum_exp.data()[b * strides[0] + head * strides[1] + row * strides[2]];
                if (!std::isfinite(lse)) continue;
                for (std::int64_t key = 0; key < found_.kv_len; ++key) {
                    const double weight = weight_at(of_, b, head, row, key);
                    if (weight > 0.0 && is_visible(of_, b, head, row, key)) use(std::log(weight) + lse);
                }
            }
    }

    void add_scores(std::int64_t head, score_distribution &into) const {
        double squares = 0.0;  // Welford's sum of squared differences from the mean
        for_each_score(head, [&](double score) {
            into.lowest = into.count == 0 ? score : std::min(into.lowest, score);
            into.highest = into.count == 0 ? score : std::max(into.highest, score);
            ++into.count;
            const double difference = score - into.mean;
            into.mean += difference / static_cast<double>(into.count);
            squares += difference * (score - into.mean);
        });
        if (into.count == 0) return;
        into.deviation = std::sqrt(squares / static_cast<double>(into.count));
        into.bins.assign(score_bins, 0);
        const double width = into.highest - into.lowest;
        for_each_score(head, [&](double score) {
            const double at = width > 0.0 ? (score - into.lowest) / width * score_bins : 0.0;
            ++into.bins[static_cast<std::size_t>(std::min(at, score_bins - 1.0))];
        });
    }

    void finish_similarity() {
        const auto heads = static_cast<std::size_t>(found_.heads);
        found_.similarity.assign(heads * heads, not_a_number);
        for (std::size_t a = 0; a < heads; ++a) {
            if (found_.head[a].rows > 0) found_.similarity[a * heads + a] = 1.0;
            for (std::size_t b = a + 1; b < heads; ++b) {
                const mean &divergence = divergence_[a * heads + b];
                if (divergence.count == 0) continue;
                const double similarity = 1.0 - divergence.value() / std::log(2.0);
                found_.similarity[a * heads + b] = found_.similarity[b * heads + a] = similarity;
                if (similarity >= limits_.alike)
                    found_.alike.push_back({static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), similarity});
            }
        }
        std::stable_sort(found_.alike.begin(), found_.alike.end(),
                         [](const head_pair &x, const head_pair &y) { return x.similarity > y.similarity; });
    }

    const attention &of_;
    const thresholds &limits_;
    statistics found_;
    std::vector<head_sums> sums_;
    std::vector<mean> divergence_;
};

}  // namespace

std::string attention::head_name(std::int64_t head) const {
    if (layers() == 1) return fmt::format("head {}", head);
    return fmt::format("layer {} head {}", head / heads_per_layer, head % heads_per_layer);
}

std::int64_t attention::layers() const { return heads_per_layer == 0 ? 1 : weights.extents()[1] / heads_per_layer; }

void check(const attention &of) {
    const auto refuse = [](const std::string &why) {
        throw std::invalid_argument(fmt::format("heed::inspect: {}", why));
    };
    if (!of.weights.given()) refuse("no weights are given");
    const auto &extents = of.weights.extents();
    const auto labels_fit = [&](const char *name, const std::vector<std::string> &labels, std::int64_t count,
                                const char *what) {
        if (!labels.empty() && static_cast<std::int64_t>(labels.size()) != count)
            refuse(fmt::format("{} {} for {} {}. Fix: one label each, or none", labels.size(), name, count, what));
    };
    labels_fit("query labels", of.query_labels, extents[2], "queries");
    labels_fit("key labels", of.key_labels, extents[3], "keys");
    if (of.heads_per_layer < 0 || (of.heads_per_layer > 0 && extents[1] % of.heads_per_layer != 0))
        refuse(fmt::format("{} heads are no layers of {} heads", extents[1], of.heads_per_layer));
    if (!of.query_start.empty() && static_cast<std::int64_t>(of.query_start.size()) != extents[0])
        refuse(fmt::format("{} query starts for a batch of {}", of.query_start.size(), extents[0]));
    const auto &lse = of.log_sum_exp.extents();
    if (of.log_sum_exp.given() && (lse[0] != extents[0] || lse[1] != extents[1] || lse[2] != extents[2]))
        refuse(fmt::format("log_sum_exp ({}, {}, {}) beside weights ({}, {}, {}, {})", lse[0], lse[1], lse[2],
                           extents[0], extents[1], extents[2], extents[3]));
}

statistics analyse(const attention &of, const thresholds &limits) {
    check(of);
    return analysis(of, limits).run();
}

}  // namespace heed::inspect
