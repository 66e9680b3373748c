// SPDX-License-Identifier: MIT
//
// What attention does with a sentence: heat maps with its tokens, statistics of the heads, and what part of the
// encoder's time and memory attention takes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "encoder.hpp"
#include "tokenizer.hpp"

namespace minilm {

/// Writes pictures and report into the folder and returns a summary.
std::string look_at_attention(const encoder &encoder, const tokenizer &tokenizer,
                              const std::vector<std::int32_t> &sentence, const std::filesystem::path &folder);

}  // namespace minilm
