// SPDX-License-Identifier: MIT
#include <heed/inspect.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "rows.hpp"

namespace heed::inspect {

namespace {

using json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// JSON has no NaN.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json numbers(const double *first, std::int64_t count) {
    json list = json::array();
    for (std::int64_t i = 0; i < count; ++i) list.push_back(number(first[i]));
    return list;
}

struct shares {
    double seconds, bytes, attention_seconds, attention_bytes;
};

shares shares_of(const run_cost &cost) {
    shares result{};
    for (const run_part &part : cost.parts) {
        result.seconds += part.seconds;
        result.bytes += part.bytes;
        if (!part.is_attention) continue;
        result.attention_seconds += part.seconds;
        result.attention_bytes += part.bytes;
    }
    return result;
}

double share(double part, double whole) { return whole > 0.0 ? part / whole : 0.0; }

std::string key_name(const attention &of, std::int64_t key) {
    const std::string number = fmt::format("key {}", key);
    return of.key_labels.empty() ? number
                                 : fmt::format("{} '{}'", number, of.key_labels[static_cast<std::size_t>(key)]);
}

json head_record(const attention &of, const statistics &found, std::int64_t h) {
    const head_statistics &head = found.head[static_cast<std::size_t>(h)];
    json record{{"name", of.head_name(h)},
                {"layer", of.heads_per_layer > 0 ? h / of.heads_per_layer : 0},
                {"head", of.heads_per_layer > 0 ? h % of.heads_per_layer : h},
                {"rows", head.rows},
                {"empty_rows", head.empty_rows},
                {"rows_not_finite", head.bad_rows},
                {"entropy", number(head.entropy)},
                {"entropy_limit", number(head.entropy_limit)},
                {"lowest_entropy", number(head.lowest_entropy)},
                {"highest_entropy", number(head.highest_entropy)},
                {"row_sum", number(head.row_sum)},
                {"first_token", number(head.first_token)},
                {"diagonal", number(head.diagonal)},
                {"previous_token", number(head.previous_token)},
                {"strongest_key", head.strongest_key},
                {"strongest_share", number(head.strongest_share)},
                {"collapsed", head.collapsed},
                {"weights", head.weights}};
    if (!of.key_labels.empty() && head.rows > 0)
        record["strongest_token"] = of.key_labels[static_cast<std::size_t>(head.strongest_key)];
    if (of.log_sum_exp.given())
        record["scores"] = {{"count", head.scores.count},
                            {"lowest", number(head.scores.lowest)},
                            {"highest", number(head.scores.highest)},
                            {"mean", number(head.scores.mean)},
                            {"deviation", number(head.scores.deviation)},
                            {"bins", head.scores.bins}};
    json entropies = json::array(), limits = json::array();
    for (std::int64_t b = 0; b < found.batch; ++b) {
        const std::int64_t at = (b * found.heads + h) * found.q_len;
        entropies.push_back(numbers(found.row_entropy.data() + at, found.q_len));
        limits.push_back(numbers(found.row_entropy_limit.data() + at, found.q_len));
    }
    record["row_entropy"] = entropies;
    record["row_entropy_limit"] = limits;
    return record;
}

json run_record(const run_cost &cost) {
    const shares all = shares_of(cost);
    json parts = json::array();
    for (const run_part &part : cost.parts)
        parts.push_back({{"name", part.name},
                         {"is_attention", part.is_attention},
                         {"seconds", part.seconds},
                         {"bytes", part.bytes}});
    return {{"seconds", all.seconds}, {"attention_share_of_time", share(all.attention_seconds, all.seconds)},
            {"bytes", all.bytes},     {"attention_share_of_memory", share(all.attention_bytes, all.bytes)},
            {"parts", parts},         {"note", cost.note}};
}

std::string head_lines(const attention &of, const statistics &found) {
    std::size_t width = 4;
    for (std::int64_t h = 0; h < found.heads; ++h) width = std::max(width, of.head_name(h).size());
    std::string text = fmt::format("{:<{}}  entropy  limit  first  previous  diagonal  strongest key\n", "head", width);
    for (std::int64_t h = 0; h < found.heads; ++h) {
        const head_statistics &head = found.head[static_cast<std::size_t>(h)];
        text += fmt::format("{:<{}}  ", of.head_name(h), width);
        if (head.rows == 0) {
            text += "no row has weight on a visible key\n";
            continue;
        }
        text += fmt::format("{:7.2f}{:7.2f}{:6.0f} %{:8.0f} %{:8.0f} %   {:3.0f} % on {}{}\n", head.entropy,
                            head.entropy_limit, 100 * head.first_token, 100 * head.previous_token, 100 * head.diagonal,
                            100 * head.strongest_share, key_name(of, head.strongest_key),
                            head.collapsed ? ", collapsed" : "");
    }
    return text;
}

// Two spaces and at most `width` characters, or nothing.
std::string bar(std::int64_t count, std::int64_t of, int width) {
    const double length = of > 0 ? width * static_cast<double>(count) / static_cast<double>(of) : 0.0;
    const auto characters = static_cast<std::size_t>(std::lround(length));
    return characters == 0 ? "" : "  " + std::string(characters, '#');
}

std::string weight_lines(const statistics &found) {
    std::array<std::int64_t, weight_bins> sums{};
    std::int64_t all = 0;
    for (const head_statistics &head : found.head)
        for (std::size_t i = 0; i < weight_bins; ++i) {
            sums[i] += head.weights[i];
            all += head.weights[i];
        }
    std::string text = "weights of visible pairs, all heads\n";
    for (std::size_t i = 0; i < weight_bins; ++i) {
        const bool last = i + 1 == weight_bins;
        if (last && sums[i] == 0) continue;
        const std::string name = i == 0 ? "0" : last ? "above 1" : fmt::format("up to {:g}", weight_bounds[i - 1]);
        text +=
            fmt::format("  {:<12}{:5.1f} %{}\n", name,
                        100.0 * share(static_cast<double>(sums[i]), static_cast<double>(all)), bar(sums[i], all, 50));
    }
    return text;
}

// The heads of a layer together.
std::string layer_lines(const attention &of, const statistics &found) {
    std::string text = "layer  entropy  limit  first  previous  diagonal";
    text += of.log_sum_exp.given() ? "   scores: lowest, mean, highest\n" : "\n";
    const std::int64_t heads = found.heads / std::max<std::int64_t>(of.layers(), 1);
    for (std::int64_t layer = 0; layer < of.layers(); ++layer) {
        head_statistics sums;
        double lowest = INFINITY, highest = -INFINITY, scores = 0.0;
        std::int64_t counted = 0;
        for (std::int64_t h = layer * heads; h < (layer + 1) * heads; ++h) {
            const head_statistics &head = found.head[static_cast<std::size_t>(h)];
            if (head.rows == 0) continue;
            ++counted;
            sums.entropy += head.entropy;
            sums.entropy_limit += head.entropy_limit;
            sums.first_token += head.first_token;
            sums.previous_token += head.previous_token;
            sums.diagonal += head.diagonal;
            if (head.scores.count == 0) continue;
            lowest = std::min(lowest, head.scores.lowest);
            highest = std::max(highest, head.scores.highest);
            scores += head.scores.mean * static_cast<double>(head.scores.count);
            sums.scores.count += head.scores.count;
        }
        if (counted == 0) continue;
        const auto over_heads = [&](double sum) { return sum / static_cast<double>(counted); };
        text += fmt::format("{:<5}{:9.2f}{:7.2f}{:6.0f} %{:8.0f} %{:8.0f} %", layer, over_heads(sums.entropy),
                            over_heads(sums.entropy_limit), 100 * over_heads(sums.first_token),
                            100 * over_heads(sums.previous_token), 100 * over_heads(sums.diagonal));
        if (sums.scores.count > 0)
            text +=
                fmt::format("{:17.2f}{:7.2f}{:9.2f}", lowest, scores / static_cast<double>(sums.scores.count), highest);
        text += "\n";
    }
    return text + "\n";
}

std::string pair_lines(const attention &of, const statistics &found, const thresholds &limits) {
    constexpr std::size_t most_shown = 12;
    std::string text = fmt::format("heads that do the same (similarity of {:.2f} or more): {}\n", limits.alike,
                                   found.alike.empty() ? "none" : fmt::format("{} pairs", found.alike.size()));
    const std::size_t shown = std::min(found.alike.size(), most_shown);
    for (std::size_t i = 0; i < shown; ++i)
        text += fmt::format("  {:.3f}  {} and {}\n", found.alike[i].similarity, of.head_name(found.alike[i].first),
                            of.head_name(found.alike[i].second));
    if (shown < found.alike.size()) text += fmt::format("  and {} more\n", found.alike.size() - shown);
    return text;
}

std::string collapsed_lines(const attention &of, const statistics &found, const thresholds &limits) {
    std::string text;
    std::int64_t count = 0;
    for (std::int64_t h = 0; h < found.heads; ++h) {
        const head_statistics &head = found.head[static_cast<std::size_t>(h)];
        if (!head.collapsed) continue;
        ++count;
        text += fmt::format("  {}: {:.0f} % on {}\n", of.head_name(h), 100 * head.strongest_share,
                            key_name(of, head.strongest_key));
    }
    return fmt::format("heads collapsed onto one token ({:.0f} % of all weight or more): {}\n", 100 * limits.collapsed,
                       count == 0 ? "none" : fmt::format("{} of {}", count, found.heads)) +
           text;
}

// Broken at spaces, each line indented.
std::string wrapped(const std::string &text, std::size_t width) {
    std::string result, line;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + 1 + word.size() > width) {
            result += "  " + line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return result + "  " + line + "\n";
}

std::string run_lines(const run_cost &cost) {
    if (cost.parts.empty()) return "";
    const shares all = shares_of(cost);
    std::string text =
        fmt::format("\nattention takes {:.1f} % of the time and {:.1f} % of the memory of the run\n",
                    100 * share(all.attention_seconds, all.seconds), 100 * share(all.attention_bytes, all.bytes));
    for (const run_part &part : cost.parts)
        text +=
            fmt::format("  {:<34}{:9.3f} ms{:6.1f} %{:10.1f} KiB{:6.1f} %\n",
                        part.name + (part.is_attention ? " *" : ""), 1e3 * part.seconds,
                        100 * share(part.seconds, all.seconds), part.bytes / 1024, 100 * share(part.bytes, all.bytes));
    text += "  * attention\n";
    return cost.note.empty() ? text : text + wrapped(cost.note, 118);
}

std::string heading(const statistics &found) {
    return fmt::format("{} head{}, {} queries x {} keys, batch {}; entropies in nats\n\n", found.heads,
                       found.heads == 1 ? "" : "s", found.q_len, found.kv_len, found.batch);
}

std::string all_but_heads(const attention &of, const statistics &found, const thresholds &limits,
                          const run_cost &cost) {
    std::int64_t empty = 0, bad = 0;
    for (const head_statistics &head : found.head) {
        empty += head.empty_rows;
        bad += head.bad_rows;
    }
    std::string text;
    if (empty > 0) text += fmt::format("{} rows have no weight on a visible key and are left out\n", empty);
    if (bad > 0) text += fmt::format("{} rows hold NaN or infinity and are left out\n", bad);
    return text + layer_lines(of, found) + weight_lines(found) + pair_lines(of, found, limits) +
           collapsed_lines(of, found, limits) + run_lines(cost);
}

void write_file(const fs::path &path, const std::string &text) {
    std::ofstream out(path);
    out << text << std::flush;
    if (!out) throw std::runtime_error(fmt::format("heed::inspect: cannot write '{}'", path.string()));
}

}  // namespace

std::string summary_text(const attention &of, const statistics &found, const thresholds &limits, const run_cost &cost) {
    return heading(found) + all_but_heads(of, found, limits, cost);
}

std::string report_text(const attention &of, const statistics &found, const thresholds &limits, const run_cost &cost) {
    return heading(found) + head_lines(of, found) + "\n" + all_but_heads(of, found, limits, cost);
}

std::string report_json(const attention &of, const statistics &found, const thresholds &limits, const run_cost &cost) {
    json heads = json::array(), similarity = json::array(), alike = json::array();
    for (std::int64_t h = 0; h < found.heads; ++h) {
        heads.push_back(head_record(of, found, h));
        similarity.push_back(numbers(found.similarity.data() + h * found.heads, found.heads));
    }
    for (const head_pair &pair : found.alike)
        alike.push_back({{"heads", {pair.first, pair.second}},
                         {"names", {of.head_name(pair.first), of.head_name(pair.second)}},
                         {"similarity", pair.similarity}});
    json report{{"batch", found.batch},
                {"q_len", found.q_len},
                {"kv_len", found.kv_len},
                {"layers", of.layers()},
                {"query_labels", of.query_labels},
                {"key_labels", of.key_labels},
                {"thresholds", {{"alike", limits.alike}, {"collapsed", limits.collapsed}}},
                {"weight_bounds", weight_bounds},
                {"heads", heads},
                {"similarity", similarity},
                {"alike", alike}};
    if (!cost.parts.empty()) report["run"] = run_record(cost);
    // A label may be any bytes.
    return report.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

statistics write_report(const std::string &folder, const attention &of, const report_options &options) {
    const std::int64_t head_count = of.weights.extents()[1];
    for (const std::int64_t head : options.heads) {
        if (head < 0 || head >= head_count)
            throw std::invalid_argument(fmt::format("heed::inspect: head {} of {}", head, head_count));
    }
    const statistics found = analyse(of, options.limits);
    std::error_code failed;
    fs::create_directories(folder, failed);
    if (!fs::is_directory(folder))
        throw std::runtime_error(fmt::format("heed::inspect: cannot make the folder '{}'", folder));
    const fs::path into(folder);
    const bool layered = of.layers() > 1;
    const std::int64_t per_layer = layered ? of.heads_per_layer : std::max<std::int64_t>(found.heads, 1);
    for (std::int64_t h = 0; found.batch > 0 && h < found.heads; ++h) {
        const bool wanted =
            options.heads.empty() || std::find(options.heads.begin(), options.heads.end(), h) != options.heads.end();
        const std::string name = layered ? fmt::format("layer_{}_head_{:02}.png", h / per_layer, h % per_layer)
                                         : fmt::format("head_{:02}.png", h);
        if (wanted) write_heat_map((into / name).string(), of, h, options.pictures);
    }
    for (std::int64_t layer = 0; found.batch > 0 && layer < of.layers(); ++layer)
        write_contact_sheet((into / (layered ? fmt::format("layer_{}.png", layer) : "heads.png")).string(), of, layer,
                            options.pictures);
    write_similarity((into / "similarity.png").string(), of, found, options.pictures);
    write_file(into / "report.json", report_json(of, found, options.limits, options.cost));
    write_file(into / "report.txt", report_text(of, found, options.limits, options.cost));
    return found;
}

}  // namespace heed::inspect
