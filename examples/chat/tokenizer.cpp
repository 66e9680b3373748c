// SPDX-License-Identifier: MIT
#include "tokenizer.hpp"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "input_error.hpp"
#include "json_file.hpp"

namespace chat {

using model_files::input_error;
using model_files::json_file;

namespace {

using code_point = utf8proc_int32_t;

enum class kind { letter, number, space, other };

kind kind_of(code_point character) {
    switch (utf8proc_category(character)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
            return kind::letter;
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_NO:
            return kind::number;
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return kind::space;
        default:
            return (character >= '\t' && character <= '\r') || character == 0x85 ? kind::space : kind::other;
    }
}

struct character {
    code_point code;
    chat::kind kind;
    std::size_t begin;  // its first byte
};

/// Ends with an entry for the end of the text, which is of no kind that words are made of. Throws input_error if the
/// text is not UTF-8.
std::vector<character> characters_of(std::string_view text) {
    std::vector<character> result;
    for (std::size_t position = 0; position < text.size();) {
        code_point code = 0;
        const utf8proc_ssize_t length =
            utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t *>(text.data()) + position,
                             static_cast<utf8proc_ssize_t>(text.size() - position), &code);
        if (length < 1) throw input_error(fmt::format("not valid UTF-8 at byte {}", position));
        result.push_back({code, kind_of(code), position});
        position += static_cast<std::size_t>(length);
    }
    result.push_back({0, kind::number, text.size()});
    return result;
}

/// Bytes of "'s", "'t", "'re", "'ve", "'m", "'ll", "'d" at the beginning of `rest`, else 0.
std::size_t contraction_length(std::string_view rest) {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
        if (rest.starts_with(ending)) return ending.size();
    }
    return 0;
}

/// Where the word ends that begins at `first`. Numbers are single digits, and nothing reaches across them. Letters, and
/// what is neither letter nor space, stay together and take one blank before them along; of other spaces the last is
/// left to what follows.
std::size_t word_end(std::string_view text, const std::vector<character> &characters, std::size_t first) {
    const auto run_end = [&](std::size_t position) {
        const kind of = characters[position].kind;
        while (position + 1 < characters.size() && characters[position].kind == of) ++position;
        return position;
    };
    if (characters[first].kind == kind::number) return first + 1;
    if (const std::size_t length = contraction_length(text.substr(characters[first].begin))) return first + length;
    if (characters[first].kind != kind::space) return run_end(first);
    const kind next = characters[first + 1].kind;
    if (characters[first].code == ' ' && (next == kind::letter || next == kind::other)) return run_end(first + 1);
    const std::size_t end = run_end(first);
    const bool something_follows = characters[end].kind != kind::number;
    return something_follows && end - first > 1 ? end - 1 : end;
}

/// The vocabulary writes bytes as characters that can be seen: printable ones as themselves, the others as those from
/// U+0100 on, in order.
std::map<code_point, char> bytes_by_character() {
    std::map<code_point, char> result;
    code_point substitute = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
        const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
        result[printable ? byte : substitute++] = static_cast<char>(byte);
    }
    return result;
}

}  // namespace

tokenizer::tokenizer(const std::filesystem::path &tokenizer_json) {
    const json_file file(tokenizer_json);
    file.require<std::string>("/model/type", "", "BPE");
    file.require<std::string>("/pre_tokenizer/type", "", "Sequence");
    file.require<std::string>("/pre_tokenizer/pretokenizers/0/type", "", "Digits");
    file.require("/pre_tokenizer/pretokenizers/0/individual_digits", false, true);
    file.require<std::string>("/pre_tokenizer/pretokenizers/1/type", "", "ByteLevel");
    file.require("/pre_tokenizer/pretokenizers/1/add_prefix_space", true, false);
    file.require("/pre_tokenizer/pretokenizers/1/use_regex", true, true);

    const auto refuse = [&](const std::string &why) {
        throw input_error(fmt::format("{}: {}", tokenizer_json.string(), why));
    };
    const auto vocabulary = file.get<std::unordered_map<std::string, std::int64_t>>("/model/vocab");
    const auto id_of = [&](const std::string &piece) {
        const auto found = vocabulary.find(piece);
        if (found == vocabulary.end()) refuse(fmt::format("the vocabulary lacks '{}'", piece));
        return static_cast<std::int32_t>(found->second);
    };
    std::set<std::string> special;
    for (std::size_t i = 0; i < file.get<std::vector<nlohmann::json>>("/added_tokens").size(); ++i) {
        special.insert(file.get<std::string>(fmt::format("/added_tokens/{}/content", i)));
    }
    turn_start_ = id_of("<|im_start|>");
    turn_end_ = id_of("<|im_end|>");
    text_end_ = id_of("<|endoftext|>");

    const std::map<code_point, char> byte_of = bytes_by_character();
    bytes_.resize(vocabulary.size());
    byte_ids_.fill(-1);
    for (const auto &[piece, id] : vocabulary) {
        if (id < 0 || id >= vocabulary_size()) {
            refuse(fmt::format("piece '{}' has id {}, outside of the {} pieces", piece, id, vocabulary_size()));
        }
        if (special.count(piece) != 0) continue;
        std::string &bytes = bytes_[static_cast<std::size_t>(id)];
        const std::vector<character> characters = characters_of(piece);
        for (std::size_t i = 0; i + 1 < characters.size(); ++i) {
            const auto byte = byte_of.find(characters[i].code);
            if (byte == byte_of.end()) refuse(fmt::format("piece '{}' does not stand for bytes", piece));
            bytes += byte->second;
        }
        if (bytes.size() == 1) byte_ids_[static_cast<unsigned char>(bytes[0])] = static_cast<std::int32_t>(id);
    }

    const auto merges = file.get<std::vector<std::string>>("/model/merges");
    joins_.reserve(merges.size());
    for (const std::string &merge : merges) {
        const std::size_t blank = merge.find(' ');
        if (blank == std::string::npos) refuse(fmt::format("merge '{}' is not a pair", merge));
        const std::string left = merge.substr(0, blank), right = merge.substr(blank + 1);
        const auto rank = static_cast<std::int32_t>(joins_.size());
        joins_.emplace(pair_of(id_of(left), id_of(right)), join{rank, id_of(left + right)});
    }
}

std::vector<std::int32_t> tokenizer::encode(std::string_view text) const {
    const std::vector<character> characters = characters_of(text);
    std::vector<std::int32_t> ids;
    for (std::size_t first = 0; first + 1 < characters.size();) {
        const std::size_t end = word_end(text, characters, first);
        const std::size_t begin = characters[first].begin;
        encode_word(text.substr(begin, characters[end].begin - begin), ids);
        first = end;
    }
    return ids;
}

std::vector<std::int32_t> tokenizer::encode_chat(std::string_view system, std::string_view user) const {
    std::vector<std::int32_t> ids;
    const auto add = [&](const std::string &text) {
        const std::vector<std::int32_t> added = encode(text);
        ids.insert(ids.end(), added.begin(), added.end());
    };
    const std::pair<const char *, std::string_view> turns[] = {{"system", system}, {"user", user}};
    for (const auto &[role, text] : turns) {
        ids.push_back(turn_start_);
        add(fmt::format("{}\n{}", role, text));
        ids.push_back(turn_end_);
        add("\n");
    }
    ids.push_back(turn_start_);
    add("assistant\n");
    return ids;
}

void tokenizer::encode_word(std::string_view word, std::vector<std::int32_t> &ids) const {
    // A list of pieces, at first one per byte. Joining makes the left piece the whole, and the right one is skipped.
    struct piece {
        std::int32_t id;
        std::size_t previous, next;
    };
    constexpr auto none = static_cast<std::size_t>(-1);
    std::vector<piece> pieces;
    for (const char byte : word) {
        const std::int32_t id = byte_ids_[static_cast<unsigned char>(byte)];
        if (id >= 0) pieces.push_back({id, pieces.size() - 1, pieces.size() + 1});
    }
    if (pieces.empty()) return;
    pieces.back().next = none;

    // The join that was learned first goes first, of several the leftmost. Entries whose pieces have changed are stale.
    using candidate = std::tuple<std::int32_t, std::size_t, std::uint64_t>;  // rank, left piece, pair
    std::priority_queue<candidate, std::vector<candidate>, std::greater<>> candidates;
    const auto consider = [&](std::size_t left) {
        if (left == none || pieces[left].next == none) return;
        const std::uint64_t pair = pair_of(pieces[left].id, pieces[pieces[left].next].id);
        const auto found = joins_.find(pair);
        if (found != joins_.end()) candidates.emplace(found->second.rank, left, pair);
    };
    constexpr std::int32_t joined = -1;
    for (std::size_t i = 0; i < pieces.size(); ++i) consider(i);
    while (!candidates.empty()) {
        const auto [rank, left, pair] = candidates.top();
        candidates.pop();
        if (pieces[left].id == joined || pieces[left].next == none) continue;
        piece &right = pieces[pieces[left].next];
        if (pair_of(pieces[left].id, right.id) != pair) continue;
        pieces[left].id = joins_.at(pair).result;
        pieces[left].next = right.next;
        if (right.next != none) pieces[right.next].previous = left;
        right.id = joined;
        consider(pieces[left].previous);
        consider(left);
    }
    for (std::size_t i = 0; i != none; i = pieces[i].next) ids.push_back(pieces[i].id);
}

}  // namespace chat
