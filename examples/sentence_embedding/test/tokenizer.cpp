// SPDX-License-Identifier: MIT
//
// A small vocabulary; the real one is compared in tokens.py.
#include "tokenizer.hpp"

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "input_error.hpp"
#include "temporary_file.hpp"

using minilm::tokenizer;
using model_files::input_error;
using ids = std::vector<std::int32_t>;

namespace {

enum : std::int32_t { unknown, cls, sep, mask, un, able, un_able, a, period, cjk, e, jamo_g, jamo_a };

nlohmann::json small_tokenizer() {
    return {
        {"added_tokens", {{{"id", cls}, {"content", "[CLS]"}}, {{"id", mask}, {"content", "[MASK]"}}}},
        {"normalizer",
         {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", nullptr},
          {"lowercase", true}}},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
        {"model",
         {{"type", "WordPiece"},
          {"unk_token", "[UNK]"},
          {"continuing_subword_prefix", "##"},
          {"max_input_chars_per_word", 10},
          {"vocab",
           {{"[UNK]", unknown},
            {"[CLS]", cls},
            {"[SEP]", sep},
            {"[MASK]", mask},
            {"un", un},
            {"##able", able},
            {"##un", un_able},
            {"a", a},
            {".", period},
            {"中", cjk},
            {"e", e},
            {"\u1100", jamo_g},
            {"##\u1161", jamo_a}}}}},
    };
}

ids encode(const std::string &text, int max_tokens = 100) {
    const temporary_file file(small_tokenizer().dump());
    return tokenizer(file.path(), max_tokens).encode(text);
}

std::string refusal_of(const nlohmann::json &content) {
    const temporary_file file(content.dump());
    try {
        tokenizer{file.path(), 100};
    } catch (const input_error &problem) {
        return problem.what();
    }
    return "accepted";
}

}  // namespace

TEST_CASE("pieces are those of the vocabulary, continuations with their mark") {
    const temporary_file file(small_tokenizer().dump());
    const tokenizer small(file.path(), 100);
    CHECK(small.piece(cls) == "[CLS]");
    CHECK(small.piece(able) == "##able");
    CHECK(small.piece(cjk) == "中");
}

TEST_CASE("every sequence is opened and closed") {
    CHECK(encode("") == ids{cls, sep});
    CHECK(encode(" \t\n ") == ids{cls, sep});
}

TEST_CASE("words fall into the longest pieces, or are unknown as a whole") {
    CHECK(encode("unable") == ids{cls, un, able, sep});
    CHECK(encode("ununable") == ids{cls, un, un_able, able, sep});
    CHECK(encode("unablex") == ids{cls, unknown, sep});
    CHECK(encode("able") == ids{cls, unknown, sep});
    CHECK(encode("ununununun") == ids{cls, un, un_able, un_able, un_able, un_able, sep});
    CHECK(encode("unununununa") == ids{cls, unknown, sep});  // 11 characters, one too many
}

TEST_CASE("case and accents do not matter, spaces and invisible characters neither") {
    CHECK(encode("UnAbLe") == ids{cls, un, able, sep});
    CHECK(encode("é É e\u0301") == ids{cls, e, e, e, sep});
    CHECK(encode("un\u200Bable") == ids{cls, un, able, sep});
    CHECK(encode("a\u00A0a\u3000a\u2028a") == ids{cls, a, a, a, a, sep});
    CHECK(encode(std::string("a\0a", 3)) == ids{cls, unknown, sep});  // one word 'aa'
}

TEST_CASE("punctuation and Chinese characters stand alone, Hangul is decomposed") {
    CHECK(encode("a.a..") == ids{cls, a, period, a, period, period, sep});
    CHECK(encode("a中中a") == ids{cls, a, cjk, cjk, a, sep});
    CHECK(encode("가") == ids{cls, jamo_g, jamo_a, sep});
}

TEST_CASE("a special token in the text stands for itself") {
    CHECK(encode("a[MASK]a [CLS]") == ids{cls, a, mask, a, cls, sep});
    CHECK(encode("[mask]") == ids{cls, unknown, unknown, unknown, sep});
}

TEST_CASE("long texts are cut, the closing token stays") {
    CHECK(encode("a a a", 5) == ids{cls, a, a, a, sep});
    CHECK(encode("a a a a", 5) == ids{cls, a, a, a, sep});
    CHECK(encode("unable", 3) == ids{cls, un, sep});
    CHECK(encode("a", 2) == ids{cls, sep});
}

TEST_CASE("text that is not UTF-8 is refused with its place") {
    CHECK_THROWS_WITH_AS(encode("ab\xFF"), "not valid UTF-8 at byte 2", input_error);
    CHECK_THROWS_WITH_AS(encode("a\xC3"), "not valid UTF-8 at byte 1", input_error);
    CHECK_THROWS_WITH_AS(encode("\xED\xA0\x80"), "not valid UTF-8 at byte 0", input_error);  // a surrogate
}

TEST_CASE("another kind of tokeniser is refused") {
    CHECK(refusal_of(small_tokenizer()) == "accepted");
    const auto refused = [](const char *field, const nlohmann::json &value, const std::string &why) {
        nlohmann::json content = small_tokenizer();
        content[nlohmann::json::json_pointer(field)] = value;
        const std::string text = refusal_of(content);
        CAPTURE(text);
        CHECK(text.find(why) != std::string::npos);
    };
    refused("/model/type", "BPE", "field '/model/type' is \"BPE\", this program supports \"WordPiece\" only");
    refused("/normalizer/lowercase", false, "field '/normalizer/lowercase' is false");
    refused("/normalizer/lowercase", 1, "field '/normalizer/lowercase'");
    refused("/normalizer", nullptr, "field '/normalizer/type' is \"\"");
    refused("/model/vocab", nlohmann::json::object(), "the vocabulary lacks '[UNK]'");
    refused("/model/vocab", "none", "field '/model/vocab'");
    refused("/model/vocab/a", 1000, "piece 'a' has id 1000, outside of the 13 pieces");
    refused("/model/vocab/a", -1, "piece 'a' has id -1");
    refused("/added_tokens/1/content", "[NEW]", "the vocabulary lacks '[NEW]'");
}
