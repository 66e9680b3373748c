// SPDX-License-Identifier: MIT
//
// Byte-level byte-pair encoding (GPT-2's, with SmolLM's single digits), from the tokenizer.json that comes with the
// weights: split the text into words, numbers and spaces, then join the pairs of pieces that the training joined first.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chat {

class tokenizer {
  public:
    /// Throws input_error if the file is broken or asks for another kind of tokeniser.
    explicit tokenizer(const std::filesystem::path &tokenizer_json);

    /// Special tokens written out in the text are text: nobody can end a turn with them. `text` is UTF-8; throws
    /// input_error naming the byte if it is not. Bytes that the vocabulary lacks are dropped.
    std::vector<std::int32_t> encode(std::string_view text) const;

    /// What the model was trained to answer: the turns of system and user, and the opening of its own.
    std::vector<std::int32_t> encode_chat(std::string_view system, std::string_view user) const;

    /// The bytes that a token stands for; a character may need several tokens. Nothing for special tokens.
    const std::string &bytes(std::int32_t id) const { return bytes_.at(static_cast<std::size_t>(id)); }

    /// The model has said what it had to say.
    bool ends_answer(std::int32_t id) const { return id == turn_end_ || id == text_end_; }

    /// Every id is below this.
    std::int32_t vocabulary_size() const { return static_cast<std::int32_t>(bytes_.size()); }

  private:
    struct join {
        std::int32_t rank, result;
    };

    static std::uint64_t pair_of(std::int32_t left, std::int32_t right) {
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
    }
    void encode_word(std::string_view word, std::vector<std::int32_t> &ids) const;

    std::vector<std::string> bytes_;            // by id
    std::array<std::int32_t, 256> byte_ids_{};  // -1: not in the vocabulary
    std::unordered_map<std::uint64_t, join> joins_;
    std::int32_t turn_start_ = 0, turn_end_ = 0, text_end_ = 0;
};

}  // namespace chat
