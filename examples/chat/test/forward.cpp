// SPDX-License-Identifier: MIT
//
// Test helper: feeds given texts to the model as the generator would, all at once: their prompts first, then token
// after token. To standard output, for each text in turn: the logits after its prompt and after each further token,
// f32.
//   forward MODEL_FOLDER CACHE_TYPE PAGE_SIZE WINDOW
// reads a JSON list of {"prompt_tokens": [...], "tokens": [...]} from standard input.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "language_model.hpp"

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    using token_ids = std::vector<std::int32_t>;
    chat::language_model model(argv[1]);
    const auto texts = nlohmann::json::parse(std::cin);

    std::vector<token_ids> prompts, continuations;
    heed::cache_options options{chat::cache_types.at(argv[2]), 0, std::stol(argv[3]), model.layer_count()};
    std::size_t steps = 1;
    for (const auto &text : texts) {
        prompts.push_back(text.at("prompt_tokens"));
        continuations.push_back(text.at("tokens"));
        const auto length = static_cast<std::int64_t>(prompts.back().size() + continuations.back().size());
        options.pages += length / options.page_size + 1;
        steps = std::max(steps, continuations.back().size() + 1);
    }
    chat::cached_attention attention(options, std::stol(argv[4]));
    std::vector<chat::cached_attention::sequence> sequences;
    for (std::size_t i = 0; i < prompts.size(); ++i) sequences.push_back(attention.add());

    std::vector<std::vector<float>> logits(prompts.size());
    for (std::size_t step = 0; step < steps; ++step) {
        std::vector<chat::language_model::next_tokens> next;
        std::vector<std::size_t> numbers;
        for (std::size_t i = 0; i < prompts.size(); ++i) {
            if (step > continuations[i].size()) continue;
            if (step == 0) {
                next.push_back({sequences[i], prompts[i]});
            } else {
                next.push_back({sequences[i], {&continuations[i][step - 1], 1}});
            }
            numbers.push_back(i);
        }
        chat::forward_times ignored;
        const chat::matrix &rows = model.forward(next, attention, ignored);
        for (std::size_t row = 0; row < numbers.size(); ++row) {
            const auto from = rows.row(static_cast<Eigen::Index>(row));
            logits[numbers[row]].insert(logits[numbers[row]].end(), from.begin(), from.end());
        }
    }
    for (const auto &rows : logits) std::fwrite(rows.data(), sizeof(float), rows.size(), stdout);
}
