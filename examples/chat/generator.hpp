// SPDX-License-Identifier: MIT
//
// Writes the answers to several prompts at once. In every step all sequences go through the model together: some with
// the token that was chosen last, others, which have just joined, with their whole prompt. Finished ones leave, and
// make room for prompts that wait.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "language_model.hpp"
#include "tokenizer.hpp"

namespace chat {

using token_ids = std::vector<std::int32_t>;

struct generator_settings {
    std::int64_t max_tokens = 256;  ///< of an answer
    std::int64_t at_once = 16;      ///< sequences
    double temperature = 0;         ///< 0: always the most likely token
    std::uint64_t seed = 0;         ///< an answer depends on it and on the number of its prompt, not on its neighbours
    heed::data_type cache_type = heed::data_type::f32;
    std::int64_t page_size = 64;  ///< tokens; 0: a page holds the longest sequence
    std::int64_t window = 0;      ///< tokens; 0: everything before is seen
};

struct generator_report {
    std::int64_t prompt_tokens = 0, answer_tokens = 0;
    forward_times prompts, answers;  ///< a step with both counts for both, in proportion to their rows
    std::int64_t cache_bytes = 0;
};

/// Told of every token as it is chosen, those that end an answer too; `last`: nothing follows in this answer.
using token_listener = std::function<void(std::size_t prompt, std::int32_t token, bool last)>;

/// Throws input_error if a prompt is empty, or with its answer longer than the model knows.
generator_report generate(language_model &model, const tokenizer &tokenizer, const std::vector<token_ids> &prompts,
                          const generator_settings &settings, const token_listener &listener);

}  // namespace chat
