// SPDX-License-Identifier: MIT
//
// BERT's uncased WordPiece tokeniser, from the tokenizer.json that comes with the weights: decompose, strip accents,
// lower-case, split at spaces, punctuation and Chinese characters, then take the longest pieces of the vocabulary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minilm {

class tokenizer {
  public:
    /// Sequences are cut to `max_tokens`, the opening and closing token included. Throws input_error if the file is
    /// broken or asks for another kind of tokeniser.
    tokenizer(const std::filesystem::path &tokenizer_json, int max_tokens);

    /// [CLS] pieces [SEP]. `text` is UTF-8; throws input_error naming the byte if it is not.
    std::vector<std::int32_t> encode(std::string_view text) const;

    /// The piece of an id as the vocabulary has it, with "##" where it continues a word.
    const std::string &piece(std::int32_t id) const { return pieces_.at(static_cast<std::size_t>(id)); }

    /// Every id is below this.
    std::int32_t vocabulary_size() const { return vocabulary_size_; }

  private:
    struct text_hash : std::hash<std::string_view> {
        using is_transparent = void;
    };
    using id_table = std::unordered_map<std::string, std::int32_t, text_hash, std::equal_to<>>;

    void encode_plain(std::string_view text, std::vector<std::int32_t> &ids) const;
    void encode_word(std::string_view word, std::vector<std::int32_t> &ids) const;

    int max_tokens_;
    int max_word_characters_ = 100;
    std::int32_t vocabulary_size_ = 0;
    std::int32_t unknown_ = 0, opening_ = 0, closing_ = 0;
    std::vector<std::string> pieces_;  // by id
    id_table word_starts_;
    id_table continuations_;  // without their "##"
    std::vector<std::pair<std::string, std::int32_t>> special_tokens_;
};

}  // namespace minilm
