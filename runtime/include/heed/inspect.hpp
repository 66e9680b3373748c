// SPDX-License-Identifier: MIT
//
// Looking at attention: what the attention matrices of a call say about its heads, as numbers, as pictures and as a
// report. The matrices come from a kernel of the pass "weights" (heed/call.hpp) or from anywhere else.
//
//     heed::inspect::attention of;
//     of.weights = {data, {1, layers * heads, tokens, tokens}};
//     of.heads_per_layer = heads;
//     of.query_labels = of.key_labels = {"[CLS]", "attention", "is", ...};
//     std::cout << heed::inspect::report_text(of, heed::inspect::write_report("folder", of));
//
// Link heed::inspect for it.
#pragma once

#include <heed/view.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed::inspect {

/// What is looked at. Only pairs that are visible count; rows without weight on any of them are left out everywhere.
struct attention {
    view<const float, 4> weights = {};      ///< (batch, heads, q_len, kv_len)
    view<const float, 3> log_sum_exp = {};  ///< optional, (batch, heads, q_len): for the distribution of scores

    /// Several layers may stand one after another in the dimension of heads. 0: all heads are of one layer.
    std::int64_t heads_per_layer = 0;

    /// UTF-8, one label for each query and key; positions if empty.
    std::vector<std::string> query_labels = {}, key_labels = {};

    /// Position of the first query, one number per batch entry; if empty, the last query meets the last key.
    std::vector<std::int64_t> query_start = {};

    /// Whether a query row sees a key. If not given, pairs whose weight is not 0 count as visible.
    std::function<bool(std::int64_t batch, std::int64_t head, std::int64_t row, std::int64_t key)> visible = {};

    /// "head 7", or with several layers "layer 3 head 7", both from 0.
    std::string head_name(std::int64_t head) const;
    std::int64_t layers() const;
};

struct thresholds {
    double alike = 0.9;      ///< similarity from which two heads do the same
    double collapsed = 0.9;  ///< share of all weight on one key from which a head has collapsed
};

/// Weights by magnitude: exactly 0, then up to and including each bound.
inline constexpr std::array<double, 7> weight_bounds = {1e-6, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0};
inline constexpr std::size_t weight_bins = weight_bounds.size() + 2;  ///< 0 first, above 1 last

/// Scores in bins of equal width.
struct score_distribution {
    std::int64_t count = 0;
    double lowest = 0, highest = 0, mean = 0, deviation = 0;
    std::vector<std::int64_t> bins;  ///< from `lowest` to `highest`; empty if there are no scores
};

/// One head, all batch entries and rows together. Shares are of the weight of a row, each row counting the same; signs
/// do not count.
struct head_statistics {
    std::int64_t rows = 0;        ///< that have weight on some key
    std::int64_t empty_rows = 0;  ///< that have none
    std::int64_t bad_rows = 0;    ///< with a weight that is NaN or infinite; left out

    double entropy = 0;        ///< mean over rows, in nats
    double entropy_limit = 0;  ///< mean over rows of log(visible keys), what uniform rows have
    double lowest_entropy = 0, highest_entropy = 0;
    double row_sum = 0;  ///< mean sum of a row's weights: below 1 with a sink_logit

    double first_token = 0;     ///< share of key 0, the attention sink of Xiao et al., arXiv 2309.17453
    double diagonal = 0;        ///< share of the query's own position, over rows whose position is visible
    double previous_token = 0;  ///< share of the position before it, likewise
    std::int64_t strongest_key = 0;
    double strongest_share = 0;  ///< of `strongest_key`
    bool collapsed = false;      ///< onto `strongest_key`

    std::array<std::int64_t, weight_bins> weights{};  ///< visible pairs by weight_bounds
    /// log(weight) + log_sum_exp, the score after score_mod, of visible pairs whose weight is not 0. From a softmax
    /// only: a factor on the weights would be in it. The pairs of weight 0 are in `weights`.
    score_distribution scores;
};

struct head_pair {
    std::int64_t first, second;
    double similarity;
};

struct statistics {
    std::int64_t batch = 0, heads = 0, q_len = 0, kv_len = 0;
    std::vector<head_statistics> head;
    /// (batch, heads, q_len), in nats; NaN for rows that are left out. The entropy of weight / sum of weights.
    std::vector<double> row_entropy;
    std::vector<double> row_entropy_limit;  ///< the same shape: log(visible keys)
    /// (heads, heads): 1 - mean over rows of the Jensen-Shannon divergence of the two rows, in units of log 2. 1: equal
    /// in every row; 0: no weight on common keys; NaN: no row of both. The divergence is how Clark et al. 2019 (What
    /// Does BERT Look At?, section 6) compare heads; a cosine would only see the largest weights. 1 for a head and
    /// itself.
    std::vector<double> similarity;
    std::vector<head_pair> alike;  ///< pairs that reach the threshold, the most similar first

    double similarity_of(std::int64_t first, std::int64_t second) const {
        return similarity[static_cast<std::size_t>(first * heads + second)];
    }
};

/// Throws std::invalid_argument if extents, labels or starts contradict each other.
statistics analyse(const attention &of, const thresholds &limits = {});

struct picture_options {
    std::string font;  ///< a TrueType or OpenType file; empty: the one found when the library was built
    std::int64_t batch_entry = 0;
};

/// One head as a PNG: queries down, keys to the right, labels on both axes, grey where a pair is not visible. Cells are
/// squares of 1 to 24 pixels; beyond 2048 rows or keys a pixel is the largest of several weights. Labels are thinned
/// out where they do not fit. Throws std::runtime_error if the font cannot be read or the file not be written.
void write_heat_map(const std::string &path, const attention &of, std::int64_t head, const picture_options &how = {});

/// All heads of one layer on one picture.
void write_contact_sheet(const std::string &path, const attention &of, std::int64_t layer,
                         const picture_options &how = {});

/// The similarity of all pairs of heads.
void write_similarity(const std::string &path, const attention &of, const statistics &found,
                      const picture_options &how = {});

/// A part of a run, measured by the caller.
struct run_part {
    std::string name;
    double seconds = 0, bytes = 0;
    bool is_attention = false;
};

/// Where the time and the memory of a run went.
struct run_cost {
    std::vector<run_part> parts;
    std::string note;  ///< what is counted
};

/// For people: a line per layer, the distribution of weights, pairs that do the same, heads that have collapsed, shares
/// of the run.
std::string summary_text(const attention &of, const statistics &found, const thresholds &limits = {},
                         const run_cost &cost = {});

/// The summary after a line per head.
std::string report_text(const attention &of, const statistics &found, const thresholds &limits = {},
                        const run_cost &cost = {});

/// The same and all distributions, row entropies and similarities, as JSON.
std::string report_json(const attention &of, const statistics &found, const thresholds &limits = {},
                        const run_cost &cost = {});

struct report_options {
    thresholds limits;
    picture_options pictures;
    std::vector<std::int64_t> heads;  ///< heat maps of these only; empty: of all
    run_cost cost;
};

/// Writes heat maps (layer_3_head_07.png, head_07.png), contact sheets (layer_3.png, heads.png), similarity.png,
/// report.json and report.txt into `folder`, which is made if it is not there.
statistics write_report(const std::string &folder, const attention &of, const report_options &options = {});

}  // namespace heed::inspect
