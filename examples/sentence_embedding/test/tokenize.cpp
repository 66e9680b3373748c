// SPDX-License-Identifier: MIT
//
// Test helper: a JSON list of texts from standard input, a JSON list of their token ids to standard output.
//   tokenize TOKENIZER_JSON MAX_TOKENS
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tokenizer.hpp"

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const minilm::tokenizer tokenizer(argv[1], std::stoi(argv[2]));
    nlohmann::json ids = nlohmann::json::array();
    for (const auto &text : nlohmann::json::parse(std::cin)) ids.push_back(tokenizer.encode(text.get<std::string>()));
    std::cout << ids;
}
