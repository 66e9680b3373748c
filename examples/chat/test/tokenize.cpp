// SPDX-License-Identifier: MIT
//
// Test helper: a JSON list of texts from standard input; to standard output a list of their token ids, and the bytes of
// these tokens put together, as numbers.
//   tokenize TOKENIZER_JSON [SYSTEM]
// With SYSTEM the texts are what a user says.
#include "tokenizer.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const chat::tokenizer tokenizer(argv[1]);
    nlohmann::json result = nlohmann::json::array();
    for (const auto &entry : nlohmann::json::parse(std::cin)) {
        const auto text = entry.get<std::string>();
        const auto ids = argc > 2 ? tokenizer.encode_chat(argv[2], text) : tokenizer.encode(text);
        std::string bytes;
        for (const auto id : ids) bytes += tokenizer.bytes(id);
        result.push_back({{"tokens", ids}, {"bytes", std::vector<unsigned char>(bytes.begin(), bytes.end())}});
    }
    std::cout << result;
}
