// SPDX-License-Identifier: MIT
#include "torch.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "oracle.hpp"
#include "random.hpp"
#include "torch_script.hpp"
#include "visible_pairs.hpp"

namespace heed::runner {

namespace {

using json = nlohmann::json;

row_address random_row(const problem &of, random_source &random) {
    return {random.integer(0, of.sizes.batch - 1), random.integer(0, of.variant->heads - 1),
            random.integer(0, of.sizes.q_len - 1)};
}

pair_position pair_at(const problem &of, const row_address &at, std::int64_t key) {
    const std::int64_t start = of.variant->readings.query_start(of.sizes, at.batch, of.inputs.reader());
    return {at.batch, at.head, start + at.row, key};
}

enum class score_change { none, additive, other };

// What score_mod does, from samples: a number that does not depend on the score can be given as a bias.
score_change sampled_score_change(const problem &of) {
    constexpr int samples = 512;
    random_source random(11);
    score_change found = score_change::none;
    for (int i = 0; i < samples; ++i) {
        const row_address at = random_row(of, random);
        const pair_position pair = pair_at(of, at, random.integer(0, of.sizes.kv_len - 1));
        const auto change = [&](double score) {
            return of.variant->readings.modified_score(of.sizes, pair, score, of.inputs.reader()) - score;
        };
        const double shift = change(0.0);
        for (const double score : {-40.0, -3.0, 0.25, 7.0, 60.0})
            if (!(std::fabs(change(score) - shift) <= 1e-9 * std::max(1.0, std::fabs(shift))))
                return score_change::other;
        if (shift != 0.0) found = score_change::additive;
    }
    return found;
}

// Whether, in samples, an entry of batch or head sees the same pairs as the first one.
bool same_mask_everywhere(const problem &of, bool vary_batch, bool vary_head, bool bias) {
    constexpr int samples = 20'000;
    random_source random(12);
    const variant_readings &readings = of.variant->readings;
    for (int i = 0; i < samples; ++i) {
        row_address at = random_row(of, random);
        const std::int64_t key = random.integer(0, of.sizes.kv_len - 1);
        if (!vary_batch) at.batch = 0;
        if (!vary_head) at.head = 0;
        const row_address reference{vary_batch ? 0 : at.batch, vary_head ? 0 : at.head, at.row};
        if (sees(of, at, key) != sees(of, reference, key)) return false;
        if (!bias) continue;
        const input_reader reader = of.inputs.reader();
        if (readings.modified_score(of.sizes, pair_at(of, at, key), 0.0, reader) !=
            readings.modified_score(of.sizes, pair_at(of, reference, key), 0.0, reader))
            return false;
    }
    return true;
}

bool is_lower_triangle(const std::vector<std::uint8_t> &mask, std::int64_t length) {
    for (std::int64_t row = 0; row < length; ++row)
        for (std::int64_t key = 0; key < length; ++key)
            if ((mask[static_cast<std::size_t>(row * length + key)] != 0) != (key <= row)) return false;
    return true;
}

void add_bias(const problem &of, std::int64_t batch, std::int64_t head, const std::vector<std::uint8_t> &mask,
              std::vector<float> &bias) {
    for (std::int64_t row = 0; row < of.sizes.q_len; ++row)
        for (std::int64_t key = 0; key < of.sizes.kv_len; ++key) {
            const pair_position pair = pair_at(of, {batch, head, row}, key);
            const bool visible = mask[static_cast<std::size_t>(row * of.sizes.kv_len + key)] != 0;
            bias.push_back(visible ? static_cast<float>(
                                         of.variant->readings.modified_score(of.sizes, pair, 0.0, of.inputs.reader()))
                                   : -std::numeric_limits<float>::infinity());
        }
}

void write_rows(std::ofstream &file, const tensor &from) {
    const auto &extents = from.shape.extents;
    for (std::int64_t b = 0; b < extents[0]; ++b)
        for (std::int64_t h = 0; h < extents[1]; ++h)
            for (std::int64_t i = 0; i < extents[2]; ++i)
                file.write(reinterpret_cast<const char *>(from.row(b, h, i)),
                           static_cast<std::streamsize>(extents[3] * static_cast<std::int64_t>(sizeof(float))));
}

std::string call_name(torch_peer peer, int threads) {
    return peer == torch_peer::sdpa ? "sdpa" : fmt::format("flex {}", threads);
}

}  // namespace

torch_equivalent find_torch_equivalent(const problem &of) {
    using kind = torch_equivalent::kind;
    constexpr std::int64_t largest_mask_bytes = std::int64_t{1} << 30;
    const auto none = [](std::string why) {
        torch_equivalent result;
        result.why_not = std::move(why);
        return result;
    };
    const auto &[batch, q_len, kv_len] = of.sizes;
    if (batch == 0 || q_len == 0 || kv_len == 0) return none("the problem is empty");
    const variant_readings &readings = of.variant->readings;
    if (readings.sink_logit != nullptr) return none("it has no sink in the denominator");
    if (readings.weight_of_score != nullptr || readings.weight_factor != nullptr) return none("it has a softmax alone");
    if (readings.modify_query != nullptr || readings.modify_key != nullptr || readings.modify_value != nullptr ||
        readings.modify_output != nullptr)
        return none("it does not modify rows");
    const score_change change = sampled_score_change(of);
    if (change == score_change::other) return none("it has no score_mod");

    torch_equivalent result;
    const bool bias = change == score_change::additive;
    result.mask_batch = same_mask_everywhere(of, true, false, bias) ? 1 : batch;
    result.mask_heads = same_mask_everywhere(of, false, true, bias) ? 1 : of.variant->heads;
    const std::int64_t pairs = batch * of.variant->heads * q_len * kv_len;
    if (!bias && count_visible_pairs(*of.variant, of.sizes, of.inputs.reader()) == pairs) {
        result.how = kind::dense;
        return result;
    }
    const std::int64_t elements = result.mask_batch * result.mask_heads * q_len * kv_len;
    if (elements * (bias ? 4 : 1) > largest_mask_bytes)
        return none(
            fmt::format("its mask would take {:.1f} GiB", static_cast<double>(elements) * (bias ? 4 : 1) / 0x1p30));
    for (std::int64_t b = 0; b < result.mask_batch; ++b)
        for (std::int64_t h = 0; h < result.mask_heads; ++h) {
            const auto mask = visible_mask(*of.variant, of.sizes, b, h, of.inputs.reader());
            if (bias) {
                add_bias(of, b, h, mask, result.bias);
            } else {
                result.mask.insert(result.mask.end(), mask.begin(), mask.end());
            }
        }
    result.how = bias ? kind::additive_mask : kind::boolean_mask;
    if (!bias && q_len == kv_len && result.mask_batch * result.mask_heads == 1 &&
        is_lower_triangle(result.mask, q_len)) {
        result.how = kind::causal;
        result.mask.clear();
    }
    return result;
}

torch_process::torch_process(const std::string &python) : python_(python) {
    std::string folder = (std::filesystem::temp_directory_path() / "heed-torch-XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr)
        throw std::runtime_error("bench --against-torch: no folder for temporary files");
    folder_ = folder;
    // A file and not '-c', because torch.compile passes over functions without one.
    std::string script = file("heed_torch.py");
    std::ofstream(script) << torch_script;
    // Not pipes: a write to a process that has ended would raise SIGPIPE in whatever program called us.
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::runtime_error("bench --against-torch: no socket");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    char *arguments[] = {python_.data(), script.data(), nullptr};
    const int failed = posix_spawnp(&process_, python_.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    socket_ = ends[0];
    answers_ = fdopen(socket_, "r");
    if (failed != 0) {
        process_ = -1;
        stop();
        throw std::runtime_error(
            fmt::format("bench --against-torch: cannot start '{}': {}. Fix: name a Python that has "
                        "PyTorch with --python",
                        python_, std::strerror(failed)));
    }
    try {
        version_ = answer().at("version").get<std::string>();
    } catch (...) {
        stop();
        throw;
    }
}

torch_process::~torch_process() { stop(); }

void torch_process::stop() {
    if (answers_ != nullptr) std::fclose(answers_);
    answers_ = nullptr;
    socket_ = -1;
    if (process_ > 0) waitpid(process_, nullptr, 0);
    process_ = -1;
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

json torch_process::answer() {
    std::string line;
    for (int c = std::fgetc(answers_); c != EOF && c != '\n'; c = std::fgetc(answers_)) line += static_cast<char>(c);
    if (line.empty()) throw torch_ended(fmt::format("bench --against-torch: '{}' ended without an answer", python_));
    json result = json::parse(line);
    if (result.contains("error"))
        throw std::runtime_error(
            fmt::format("bench --against-torch: {} (Python: '{}'). Fix: install it for that Python, "
                        "or name another one with --python",
                        result["error"].get<std::string>(), python_));
    return result;
}

json torch_process::ask(const json &command) {
    const std::string line = command.dump() + "\n";
    for (std::size_t sent = 0; sent < line.size();) {
        const ssize_t count = send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
        if (count < 0) break;  // then there is no answer, either
        sent += static_cast<std::size_t>(count);
    }
    return answer();
}

std::string torch_process::why_no_gpu() {
    return ask({{"do", "find gpu"}, {"problem", -1}}).at("why_not").get<std::string>();
}

int torch_process::load(const problem &of, data_type storage, bool on_gpu) {
    const int number = problems_++;
    const std::string path = file(fmt::format("problem-{}", number));
    json tensors = json::array();
    {
        std::ofstream out(path, std::ios::binary);
        const std::pair<const char *, const tensor *> parts[] = {
            {"query", &of.query}, {"key", &of.key}, {"value", &of.value}};
        for (const auto &[name, part] : parts) {
            write_rows(out, *part);
            tensors.push_back({name, "float32", part->shape.extents});
        }
        for (int i = 0; i < of.variant->input_count; ++i) {
            const input_table &table = of.inputs.tables()[static_cast<std::size_t>(i)];
            const bool real = table.type == data_type::f32;
            out.write(real ? reinterpret_cast<const char *>(table.reals.data())
                           : reinterpret_cast<const char *>(table.integers.data()),
                      static_cast<std::streamsize>(table.shape.element_count() * 4));
            tensors.push_back(
                {fmt::format("input {}", of.variant->inputs[i].name), real ? "float32" : "int32", table.shape.extents});
        }
        if (!out) throw std::runtime_error("bench --against-torch: cannot write " + path);
    }
    const char *const type = storage == data_type::f16    ? "float16"
                             : storage == data_type::bf16 ? "bfloat16"
                                                          : "float32";
    ask({{"do", "load"},
         {"problem", number},
         {"file", path},
         {"tensors", tensors},
         {"storage", type},
         {"device", on_gpu ? "cuda" : "cpu"}});
    std::filesystem::remove(path);
    return number;
}

void torch_process::load_sdpa(int number, const problem &of, const torch_equivalent &how) {
    using kind = torch_equivalent::kind;
    const std::string path = file(fmt::format("mask-{}", number));
    json tensors = json::array();
    {
        std::ofstream out(path, std::ios::binary);
        const json mask_shape = {how.mask_batch, how.mask_heads, of.sizes.q_len, of.sizes.kv_len};
        if (how.how == kind::boolean_mask) {
            out.write(reinterpret_cast<const char *>(how.mask.data()), static_cast<std::streamsize>(how.mask.size()));
            tensors.push_back({"mask", "uint8", mask_shape});
        } else if (how.how == kind::additive_mask) {
            out.write(reinterpret_cast<const char *>(how.bias.data()),
                      static_cast<std::streamsize>(how.bias.size() * sizeof(float)));
            tensors.push_back({"mask", "float32", mask_shape});
        }
        if (!out) throw std::runtime_error("bench --against-torch: cannot write " + path);
    }
    ask({{"do", "sdpa"},
         {"problem", number},
         {"file", path},
         {"tensors", tensors},
         {"causal", how.how == kind::causal},
         {"scale", of.variant->scale}});
    std::filesystem::remove(path);
}

torch_process::flex_outcome torch_process::load_flex(int number, const problem &of, const flex_functions &functions,
                                                     int threads) {
    // PyTorch evaluates the mask for every pair, with intermediate results of 8 bytes each.
    constexpr double largest_mask = 0x1p29;
    const auto &[batch, q_len, kv_len] = of.sizes;
    const double pairs = static_cast<double>(q_len) * static_cast<double>(kv_len) *
                         static_cast<double>(functions.mask_reads_batch ? batch : 1) *
                         (functions.mask_reads_head ? of.variant->heads : 1);
    if (pairs > largest_mask)
        return {0, fmt::format("its block mask would take about {:.0f} GiB to make", 12.0 * pairs / 0x1p30)};
    const json outcome = ask({{"do", "flex"},
                              {"problem", number},
                              {"threads", threads},
                              {"source", functions.source},
                              {"mask_reads_batch", functions.mask_reads_batch},
                              {"mask_reads_head", functions.mask_reads_head},
                              {"scale", of.variant->scale}});
    if (outcome.contains("failed")) return {0, "PyTorch says: " + outcome["failed"].get<std::string>()};
    return {outcome.at("block").get<int>(), ""};
}

std::vector<double> torch_process::time(int number, torch_peer peer, int threads, int calls) {
    return ask({{"do", "time"},
                {"problem", number},
                {"peer", call_name(peer, threads)},
                {"threads", threads},
                {"calls", calls}})
        .at("seconds")
        .get<std::vector<double>>();
}

std::vector<float> torch_process::result(int number, torch_peer peer, int threads, std::size_t count) {
    const std::string path = file(fmt::format("result-{}", number));
    std::ofstream(path, std::ios::binary).close();
    std::filesystem::resize_file(path, count * sizeof(float));
    ask({{"do", "result"},
         {"problem", number},
         {"peer", call_name(peer, threads)},
         {"threads", threads},
         {"file", path}});
    std::vector<float> values(count);
    std::ifstream in(path, std::ios::binary);
    in.read(reinterpret_cast<char *>(values.data()), static_cast<std::streamsize>(count * sizeof(float)));
    if (!in) throw std::runtime_error("bench --against-torch: cannot read the result");
    std::filesystem::remove(path);
    return values;
}

void torch_process::unload(int number) { ask({{"do", "unload"}, {"problem", number}}); }

}  // namespace heed::runner
