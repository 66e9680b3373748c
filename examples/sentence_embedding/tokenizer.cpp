// SPDX-License-Identifier: MIT
#include "tokenizer.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <map>

#include "input_error.hpp"
#include "json_file.hpp"

namespace minilm {

using model_files::input_error;
using model_files::json_file;

namespace {

using code_point = utf8proc_int32_t;

const utf8proc_uint8_t *bytes_of(std::string_view text) {
    return reinterpret_cast<const utf8proc_uint8_t *>(text.data());
}

/// Throws input_error if the text is not UTF-8.
void require_utf8(std::string_view text) {
    for (std::size_t position = 0; position < text.size();) {
        code_point ignored;
        const auto rest = static_cast<utf8proc_ssize_t>(text.size() - position);
        const utf8proc_ssize_t length = utf8proc_iterate(bytes_of(text) + position, rest, &ignored);
        if (length < 1) throw input_error(fmt::format("not valid UTF-8 at byte {}", position));
        position += static_cast<std::size_t>(length);
    }
}

/// Canonical decomposition (NFD): accents become code points of their own.
std::vector<code_point> decompose(std::string_view text) {
    std::vector<code_point> result(text.size() + 16);
    for (;;) {
        const auto capacity = static_cast<utf8proc_ssize_t>(result.size());
        const utf8proc_ssize_t needed =
            utf8proc_decompose(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), result.data(), capacity,
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE));
        if (needed < 0) throw input_error(utf8proc_errmsg(needed));
        result.resize(static_cast<std::size_t>(needed));
        if (needed <= capacity) return result;
    }
}

void append_utf8(code_point character, std::string &text) {
    utf8proc_uint8_t encoded[4];
    const utf8proc_ssize_t length = utf8proc_encode_char(character, encoded);
    text.append(reinterpret_cast<const char *>(encoded), static_cast<std::size_t>(length));
}

bool is_space(code_point character) {
    if (character == '\t' || character == '\n' || character == '\r') return true;
    const utf8proc_category_t category = utf8proc_category(character);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL || category == UTF8PROC_CATEGORY_ZP;
}

/// Control, format, private characters and the like. Asked after `is_space`.
bool is_dropped(code_point character) {
    switch (utf8proc_category(character)) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_MN:
            return true;  // accents, split off by the decomposition
        default:
            return character == 0xFFFD;
    }
}

bool is_punctuation(code_point character) {
    // BERT counts every ASCII character that is neither letter nor digit, also '$', '+', '<', '^', '`', '|', '~'.
    if (character < 128) {
        return (character >= '!' && character <= '/') || (character >= ':' && character <= '@') ||
               (character >= '[' && character <= '`') || (character >= '{' && character <= '~');
    }
    switch (utf8proc_category(character)) {
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO:
            return true;
        default:
            return false;
    }
}

/// The blocks that BERT splits into single characters: Chinese characters, neither Hiragana, Katakana nor Hangul.
bool is_chinese(code_point character) {
    static constexpr std::pair<code_point, code_point> blocks[] = {
        {0x4E00, 0x9FFF},   {0x3400, 0x4DBF},   {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
        {0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF},   {0x2F800, 0x2FA1F},
    };
    return std::any_of(std::begin(blocks), std::end(blocks), [character](const auto &block) {
        return block.first <= character && character <= block.second;
    });
}

std::size_t character_count(std::string_view text) {
    return static_cast<std::size_t>(
        std::count_if(text.begin(), text.end(), [](char byte) { return (byte & 0xC0) != 0x80; }));
}

}  // namespace

tokenizer::tokenizer(const std::filesystem::path &tokenizer_json, int max_tokens) : max_tokens_(max_tokens) {
    const json_file file(tokenizer_json);
    file.require<std::string>("/model/type", "", "WordPiece");
    file.require<std::string>("/model/continuing_subword_prefix", "##", "##");
    file.require<std::string>("/normalizer/type", "", "BertNormalizer");
    file.require("/normalizer/clean_text", true, true);
    file.require("/normalizer/handle_chinese_chars", true, true);
    file.require("/normalizer/lowercase", true, true);
    file.require("/normalizer/strip_accents", true, true);
    file.require<std::string>("/pre_tokenizer/type", "", "BertPreTokenizer");
    max_word_characters_ = file.get_or("/model/max_input_chars_per_word", max_word_characters_);

    const auto refuse = [&](const std::string &why) {
        throw input_error(fmt::format("{}: {}", tokenizer_json.string(), why));
    };
    const auto vocabulary = file.get<std::map<std::string, std::int64_t>>("/model/vocab");
    vocabulary_size_ = static_cast<std::int32_t>(vocabulary.size());
    pieces_.resize(vocabulary.size());
    for (const auto &[piece, id] : vocabulary) {
        if (id < 0 || id >= vocabulary_size_) {
            refuse(fmt::format("piece '{}' has id {}, outside of the {} pieces", piece, id, vocabulary_size_));
        }
        pieces_[static_cast<std::size_t>(id)] = piece;
        const bool continues = piece.starts_with("##") && piece.size() > 2;
        (continues ? continuations_ : word_starts_)
            .emplace(continues ? piece.substr(2) : piece, static_cast<std::int32_t>(id));
    }

    const auto id_of = [&](const std::string &piece) {
        const auto found = word_starts_.find(piece);
        if (found == word_starts_.end()) refuse(fmt::format("the vocabulary lacks '{}'", piece));
        return found->second;
    };
    unknown_ = id_of(file.get_or<std::string>("/model/unk_token", "[UNK]"));
    opening_ = id_of("[CLS]");
    closing_ = id_of("[SEP]");
    for (std::size_t i = 0; i < file.get<std::vector<nlohmann::json>>("/added_tokens").size(); ++i) {
        const auto content = file.get<std::string>(fmt::format("/added_tokens/{}/content", i));
        if (content.empty()) refuse("an added token is empty");
        special_tokens_.emplace_back(content, id_of(content));
    }
}

std::vector<std::int32_t> tokenizer::encode(std::string_view text) const {
    require_utf8(text);
    const auto limit = static_cast<std::size_t>(max_tokens_ - 1);
    std::vector<std::int32_t> ids = {opening_};
    // Special tokens written out in the text, "[MASK]" for instance, stand for themselves.
    while (!text.empty() && ids.size() < limit) {
        std::size_t plain = text.size(), special = 0;
        std::int32_t special_id = 0;
        for (const auto &[content, id] : special_tokens_) {
            const std::size_t found = text.find(content);
            if (found >= plain) continue;
            plain = found;
            special = content.size();
            special_id = id;
        }
        encode_plain(text.substr(0, plain), ids);
        if (special != 0) ids.push_back(special_id);
        text.remove_prefix(plain + special);
    }
    ids.resize(std::min(ids.size(), limit));
    ids.push_back(closing_);
    return ids;
}

void tokenizer::encode_plain(std::string_view text, std::vector<std::int32_t> &ids) const {
    std::string word;
    const auto finish_word = [&] {
        if (!word.empty()) encode_word(word, ids);
        word.clear();
    };
    for (const code_point character : decompose(text)) {
        if (is_space(character)) {
            finish_word();
        } else if (is_punctuation(character) || is_chinese(character)) {
            finish_word();
            append_utf8(character, word);
            finish_word();
        } else if (!is_dropped(character)) {
            append_utf8(utf8proc_tolower(character), word);
        }
    }
    finish_word();
}

void tokenizer::encode_word(std::string_view word, std::vector<std::int32_t> &ids) const {
    if (character_count(word) > static_cast<std::size_t>(max_word_characters_)) return ids.push_back(unknown_);
    const std::size_t first_piece = ids.size();
    const id_table *table = &word_starts_;
    while (!word.empty()) {
        // The longest piece of the vocabulary that the rest begins with. Pieces hold whole characters, so a cut inside
        // of one finds nothing.
        std::size_t length = word.size();
        auto piece = table->find(word);
        while (piece == table->end() && --length > 0) piece = table->find(word.substr(0, length));
        if (length == 0) {
            ids.resize(first_piece);
            return ids.push_back(unknown_);
        }
        ids.push_back(piece->second);
        word.remove_prefix(length);
        table = &continuations_;
    }
}

}  // namespace minilm
