// SPDX-License-Identifier: MIT
//
// The pages of the cache: who owns them, what they hold, and what is refused. Random operations are compared with a
// model in which each sequence is a list of token numbers; memory that no token was written to is NaN.
#include <doctest/doctest.h>
#include <heed/key_value_cache.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "build_kind.hpp"
#include "random_numbers.hpp"
#include "refusal.hpp"

namespace {

using heed::cache_options;
using heed::cache_tensors;
using heed::cached_sequence;
using heed::data_type;
using heed::key_value_cache;
using heed::output_tensor;

static_assert(std::is_move_constructible_v<key_value_cache> && std::is_move_assignable_v<key_value_cache>);
static_assert(!std::is_copy_constructible_v<key_value_cache> && !std::is_copy_assignable_v<key_value_cache>);

constexpr int groups = 2, head_dim = 3, value_dim = 2;

heed::variant_description some_variant() {
    return {"grouped", "", 6, groups, head_dim, value_dim, 1.0, nullptr, 0, nullptr, 0, {}};
}

cache_options options_of(std::int64_t pages, std::int64_t page_size, std::int64_t layers = 1,
                         data_type type = data_type::f32) {
    return {type, pages, page_size, layers};
}

key_value_cache cache_of(std::int64_t pages, std::int64_t page_size, std::int64_t layers = 1,
                         data_type type = data_type::f32) {
    return {some_variant(), options_of(pages, page_size, layers, type)};
}

/// Calls `visit(layer, tensor, its number)` for what each layer has.
template <typename Visit>
void for_tensors(const key_value_cache &cache, int layers, const Visit &visit) {
    for (int layer = 0; layer < layers; ++layer) {
        const cache_tensors tensors = cache.tensors(layer);
        int number = 0;
        for (const output_tensor *tensor : {&tensors.key, &tensors.value, &tensors.key_scale, &tensors.value_scale}) {
            if (tensor->given()) {
                visit(layer, *tensor, number++);
            }
        }
    }
}

/// The bytes of a token in a group of a page; `bytes` receives their number.
char *token_of(const output_tensor &tensor, std::int64_t page, std::int64_t group, std::int64_t place,
               std::int64_t &bytes) {
    bytes = (tensor.rank == 4 ? tensor.extents[3] : 1) * heed::bytes_of(tensor.type);
    const std::int64_t row = (page * tensor.extents[1] + group) * tensor.extents[2] + place;
    return static_cast<char *>(tensor.data) + row * bytes;
}

/// All bytes of a page, in all layers: 0xff is NaN in f32, f16 and bf16.
void poison_page(const key_value_cache &cache, int layers, std::int64_t page) {
    for_tensors(cache, layers, [&](int, const output_tensor &tensor, int) {
        std::int64_t bytes = 0;
        char *const first = token_of(tensor, page, 0, 0, bytes);
        std::memset(first, 0xff, static_cast<std::size_t>(tensor.extents[1] * tensor.extents[2] * bytes));
    });
}

void poison(const key_value_cache &cache, int layers) {
    for (std::int64_t page = 0; page < cache.tensors().key.extents[0]; ++page) {
        poison_page(cache, layers, page);
    }
}

/// What token `id` holds at a byte of a tensor of a layer.
unsigned char byte_of(std::int64_t id, std::int64_t layer, std::int64_t tensor, std::int64_t group, std::int64_t byte) {
    // The number itself, its bytes one after the other, changed by where it stands.
    const std::int64_t place = layer * 64 + tensor * 16 + group * 4 + byte / 4;
    return static_cast<unsigned char>(((id >> 8 * (byte % 4)) & 0xff) ^ (place * 37 & 0xff));
}

/// Calls `visit(byte, expected)` for each byte of token `position` in all layers and tensors.
template <typename Visit>
void for_bytes(const key_value_cache &cache, int layers, int sequence, std::int64_t position, std::int64_t id,
               const Visit &visit) {
    const std::int32_t *pages = cache.view(sequence, 0).pages;
    for_tensors(cache, layers, [&](int layer, const output_tensor &tensor, int number) {
        const std::int64_t page_size = tensor.extents[2];
        for (std::int64_t group = 0; group < tensor.extents[1]; ++group) {
            std::int64_t bytes = 0;
            char *const token = token_of(tensor, pages[position / page_size], group, position % page_size, bytes);
            for (std::int64_t byte = 0; byte < bytes; ++byte) {
                visit(token[byte], static_cast<char>(byte_of(id, layer, number, group, byte)));
            }
        }
    });
}

void write(const key_value_cache &cache, int layers, int sequence, std::int64_t position, std::int64_t id) {
    for_bytes(cache, layers, sequence, position, id, [](char &byte, char expected) { byte = expected; });
}

bool holds(const key_value_cache &cache, int layers, int sequence, std::int64_t position, std::int64_t id) {
    bool equal = true;
    for_bytes(cache, layers, sequence, position, id,
              [&](const char &byte, char expected) { equal = equal && byte == expected; });
    return equal;
}

/// Room for tokens `first`, `first` + 1, ... which are written.
void extend_with(key_value_cache &cache, int layers, int sequence, std::int64_t first, std::int64_t count) {
    const std::int64_t length = cache.length(sequence);
    cache.extend(sequence, count);
    for (std::int64_t i = 0; i < count; ++i) {
        write(cache, layers, sequence, length + i, first + i);
    }
}

std::vector<std::int32_t> pages_of(const key_value_cache &cache, int sequence, std::int64_t page_size) {
    const cached_sequence view = cache.view(sequence, 0);
    return {view.pages, view.pages + (view.length + page_size - 1) / page_size};
}

bool is_aligned(const void *data) { return reinterpret_cast<std::uintptr_t>(data) % 64 == 0; }

}  // namespace

TEST_CASE("the tensors of a layer have the shape of the pages and memory of their own") {
    const std::int64_t pages = 5, page_size = 3;
    const key_value_cache cache = cache_of(pages, page_size, 2);
    CHECK(cache.free_pages() == pages);
    CHECK(cache.bytes() == 2 * pages * groups * page_size * (head_dim + value_dim) * 4);
    std::set<const char *> starts;
    for (const int layer : {0, 1}) {
        const cache_tensors tensors = cache.tensors(layer);
        for (const auto &[tensor, dim] : {std::pair{tensors.key, head_dim}, std::pair{tensors.value, value_dim}}) {
            CHECK(tensor.type == data_type::f32);
            REQUIRE(tensor.rank == 4);
            CHECK(tensor.extents[0] == pages);
            CHECK(tensor.extents[1] == groups);
            CHECK(tensor.extents[2] == page_size);
            CHECK(tensor.extents[3] == dim);
            CHECK(tensor.strides == nullptr);
            CHECK(is_aligned(tensor.data));
            starts.insert(static_cast<const char *>(tensor.data));
        }
        CHECK_FALSE(tensors.key_scale.given());
        CHECK_FALSE(tensors.value_scale.given());
    }
    REQUIRE(starts.size() == 4);
    CHECK(cache.tensors().key.data == cache.tensors(0).key.data);
    for (auto start = starts.begin(); std::next(start) != starts.end(); ++start) {
        CHECK(*std::next(start) - *start >= pages * groups * page_size * value_dim * 4);
    }
}

TEST_CASE("elements of a byte have a scale per token and group") {
    const key_value_cache cache = cache_of(5, 3, 2, data_type::i8);
    CHECK(cache.bytes() == 2 * 5 * groups * 3 * (head_dim + value_dim + 2 * 4));
    const cache_tensors tensors = cache.tensors(1);
    CHECK(tensors.key.type == data_type::i8);
    for (const output_tensor &scale : {tensors.key_scale, tensors.value_scale}) {
        CHECK(scale.type == data_type::f32);
        REQUIRE(scale.rank == 3);
        CHECK(scale.extents[0] == 5);
        CHECK(scale.extents[1] == groups);
        CHECK(scale.extents[2] == 3);
        CHECK(is_aligned(scale.data));
    }
    CHECK(cache_of(5, 3, 1, data_type::f16).bytes() == 5 * groups * 3 * (head_dim + value_dim) * 2);
    CHECK(cache_of(5, 3, 1, data_type::bf16).tensors().value.type == data_type::bf16);
}

TEST_CASE("pages come when tokens need them and go with the last one") {
    key_value_cache cache = cache_of(4, 4);
    const int sequence = cache.add();
    CHECK(cache.length(sequence) == 0);
    cache.extend(sequence, 0);
    CHECK(cache.free_pages() == 4);
    cache.extend(sequence, 4);
    CHECK(cache.free_pages() == 3);
    cache.extend(sequence, 1);
    CHECK(cache.free_pages() == 2);
    cache.extend(sequence, 3);
    CHECK(cache.free_pages() == 2);
    CHECK(cache.length(sequence) == 8);
    const cached_sequence view = cache.view(sequence, 3);
    CHECK(view.new_tokens == 3);
    CHECK(view.length == 8);
    CHECK(view.pages[0] != view.pages[1]);
    cache.truncate(sequence, 8);
    CHECK(cache.free_pages() == 2);
    cache.truncate(sequence, 5);
    CHECK(cache.free_pages() == 2);
    cache.truncate(sequence, 4);
    CHECK(cache.free_pages() == 3);
    cache.truncate(sequence, 0);
    CHECK(cache.free_pages() == 4);
    CHECK(cache.view(sequence, 0).length == 0);
}

TEST_CASE("numbers of sequences are given out again") {
    key_value_cache cache = cache_of(4, 4);
    CHECK(cache.add() == 0);
    CHECK(cache.add() == 1);
    CHECK(cache.add() == 2);
    cache.extend(1, 7);
    cache.remove(1);
    CHECK(cache.free_pages() == 4);
    CHECK(cache.fork(2) == 1);
    CHECK(cache.length(1) == 0);
    CHECK(cache.add() == 3);
}

TEST_CASE("a view of a sequence stays as it is while others change") {
    key_value_cache cache = cache_of(100, 4);
    const int sequence = cache.add();
    cache.extend(sequence, 9);
    const cached_sequence view = cache.view(sequence, 1);
    const std::vector<std::int32_t> pages(view.pages, view.pages + 3);
    for (int i = 0; i < 50; ++i) {
        cache.extend(cache.add(), 1);
    }
    cache.extend(cache.fork(sequence), 20);
    CHECK(std::equal(pages.begin(), pages.end(), view.pages));
    CHECK(cache.view(sequence, 1).pages == view.pages);
}

TEST_CASE("a fork shares pages until one of the two grows") {
    for (const data_type type : {data_type::f32, data_type::f16, data_type::bf16, data_type::i8}) {
        CAPTURE(heed::name_of(type));
        constexpr int layers = 3;
        key_value_cache cache = cache_of(10, 4, layers, type);
        poison(cache, layers);
        const int original = cache.add();
        extend_with(cache, layers, original, 1000, 6);
        const int copy = cache.fork(original);
        CHECK(cache.free_pages() == 8);
        CHECK(pages_of(cache, copy, 4) == pages_of(cache, original, 4));

        extend_with(cache, layers, copy, 2000, 1);
        CHECK(cache.free_pages() == 7);
        CHECK(cache.view(copy, 0).pages[0] == cache.view(original, 0).pages[0]);
        CHECK(cache.view(copy, 0).pages[1] != cache.view(original, 0).pages[1]);
        extend_with(cache, layers, original, 3000, 1);  // its last page is its own again
        CHECK(cache.free_pages() == 7);
        for (std::int64_t i = 0; i < 6; ++i) {
            CHECK(holds(cache, layers, original, i, 1000 + i));
            CHECK(holds(cache, layers, copy, i, 1000 + i));
        }
        CHECK(holds(cache, layers, copy, 6, 2000));
        CHECK(holds(cache, layers, original, 6, 3000));

        cache.remove(original);
        CHECK(cache.free_pages() == 8);
        for (std::int64_t i = 0; i < 6; ++i) {
            CHECK(holds(cache, layers, copy, i, 1000 + i));
        }
        cache.remove(copy);
        CHECK(cache.free_pages() == 10);
    }
}

TEST_CASE("whole pages that are shared are never copied") {
    key_value_cache cache = cache_of(4, 4);
    const int original = cache.add();
    cache.extend(original, 8);
    const int copy = cache.fork(original);
    cache.extend(copy, 1);
    cache.extend(original, 1);
    CHECK(cache.free_pages() == 0);
    CHECK(cache.view(copy, 0).pages[1] == cache.view(original, 0).pages[1]);
    CHECK(cache.view(copy, 0).pages[2] != cache.view(original, 0).pages[2]);
}

TEST_CASE("a sequence that was cut inside a page that it shares grows into a copy") {
    key_value_cache cache = cache_of(3, 4);
    const int original = cache.add();
    extend_with(cache, 1, original, 10, 4);
    const int copy = cache.fork(original);
    cache.truncate(copy, 2);
    CHECK(cache.free_pages() == 2);
    extend_with(cache, 1, copy, 20, 2);
    CHECK(cache.free_pages() == 1);
    CHECK(holds(cache, 1, original, 2, 12));
    CHECK(holds(cache, 1, copy, 1, 11));
    CHECK(holds(cache, 1, copy, 2, 20));
}

TEST_CASE("a full cache changes nothing and says what is missing") {
    key_value_cache cache = cache_of(3, 4);
    const int first = cache.add(), second = cache.add();
    extend_with(cache, 1, first, 10, 6);
    cache.extend(second, 1);
    const std::vector<std::int32_t> pages = pages_of(cache, first, 4);
    CHECK_THROWS_WITH_AS(
        cache.extend(first, 7),
        "heed::key_value_cache::extend: sequence 0 has 6 tokens and is to get 7 more, for which it needs 2 pages of 4 "
        "tokens, but 0 of 3 are free. Fix: truncate or remove sequences, or make the cache with more pages",
        heed::cache_full_error);
    CHECK_THROWS_AS(cache.extend(first, INT64_MAX), heed::cache_full_error);
    CHECK(cache.length(first) == 6);
    CHECK(pages_of(cache, first, 4) == pages);
    CHECK(holds(cache, 1, first, 5, 15));

    // The copy of a shared page needs a page, though its last two tokens are free.
    const int copy = cache.fork(first);
    CHECK_THROWS_WITH_AS(
        cache.extend(copy, 1),
        "heed::key_value_cache::extend: sequence 2 has 6 tokens and is to get 1 more, for which it needs 1 page of 4 "
        "tokens (one is the copy of its last page, which is shared), but 0 of 3 are free. Fix: truncate or remove "
        "sequences, or make the cache with more pages",
        heed::cache_full_error);
    CHECK(pages_of(cache, copy, 4) == pages);
    CHECK(cache.length(copy) == 6);
    cache.remove(second);
    CHECK_NOTHROW(cache.extend(copy, 2));
    CHECK_NOTHROW(cache.extend(first, 2));
    CHECK_THROWS_AS(cache.extend(first, 1), heed::cache_full_error);
}

TEST_CASE("growing without exceptions") {
    key_value_cache cache = cache_of(2, 4);
    const int sequence = cache.add();
    CHECK(cache.try_extend(sequence, 8).ok());
    const heed::status full = cache.try_extend(sequence, 1);
    CHECK(full.code() == heed::status_code::cache_full);
    CHECK(full.message() ==
          "heed::key_value_cache::extend: sequence 0 has 8 tokens and is to get 1 more, for which it needs 1 page of "
          "4 tokens, but 0 of 2 are free. Fix: truncate or remove sequences, or make the cache with more pages");
    CHECK(cache.length(sequence) == 8);
    CHECK(cache.try_extend(sequence, -1).code() == heed::status_code::invalid_argument);
    CHECK(cache.try_extend(5, 1).code() == heed::status_code::invalid_argument);
}

TEST_CASE("pages wholly between the first tokens and the recent ones are given up") {
    key_value_cache cache = cache_of(8, 4);
    const int sequence = cache.add();
    extend_with(cache, 1, sequence, 100, 26);  // 7 pages, 2 tokens in the last
    cache.keep(sequence, 26, 0);
    cache.keep(sequence, 0, 26);
    cache.keep(sequence, INT64_MAX, INT64_MAX);
    CHECK(cache.free_pages() == 1);
    const std::vector<std::int32_t> before = pages_of(cache, sequence, 4);
    cache.keep(sequence, 3, 7);  // tokens 3 to 18 are between: pages 1 to 3
    CHECK(cache.free_pages() == 4);
    CHECK(pages_of(cache, sequence, 4) ==
          std::vector<std::int32_t>{before[0], -1, -1, -1, before[4], before[5], before[6]});
    cache.keep(sequence, 3, 7);
    CHECK(cache.free_pages() == 4);
    CHECK(cache.length(sequence) == 26);
    for (const std::int64_t i : {0, 3, 16, 25}) {
        CHECK(holds(cache, 1, sequence, i, 100 + i));
    }
    cache.keep(sequence, 0, 6);  // token 20 is kept, the first of page 5
    CHECK(pages_of(cache, sequence, 4) == std::vector<std::int32_t>{-1, -1, -1, -1, -1, before[5], before[6]});
    cache.keep(sequence, 0, 0);  // the last page has room, which belongs to the sequence
    CHECK(pages_of(cache, sequence, 4) == std::vector<std::int32_t>{-1, -1, -1, -1, -1, -1, before[6]});
    cache.extend(sequence, 2);
    CHECK(cache.free_pages() == 7);
    cache.keep(sequence, 0, 0);
    CHECK(cache.free_pages() == 8);
    cache.extend(sequence, 1);
    CHECK(cache.free_pages() == 7);
    CHECK(cache.length(sequence) == 29);
    cache.remove(sequence);
    CHECK(cache.free_pages() == 8);
}

TEST_CASE("a page that others use stays theirs when one sequence gives it up") {
    key_value_cache cache = cache_of(4, 4);
    const int original = cache.add();
    extend_with(cache, 1, original, 10, 12);
    const int copy = cache.fork(original);
    cache.keep(copy, 0, 4);
    CHECK(cache.free_pages() == 1);
    CHECK(cache.view(copy, 0).pages[0] == -1);
    for (std::int64_t i = 0; i < 12; ++i) {
        CHECK(holds(cache, 1, original, i, 10 + i));
    }
    const int of_copy = cache.fork(copy);
    CHECK(pages_of(cache, of_copy, 4) == pages_of(cache, copy, 4));
    cache.remove(original);
    CHECK(cache.free_pages() == 3);
    cache.remove(copy);
    CHECK(cache.free_pages() == 3);
    cache.remove(of_copy);
    CHECK(cache.free_pages() == 4);
}

TEST_CASE("with a window a sequence goes round in the same few pages") {
    constexpr std::int64_t page_size = 4, window = 7, first = 2;
    key_value_cache cache = cache_of(4, page_size);
    const int sequence = cache.add();
    for (std::int64_t i = 0; i < 500; ++i) {
        extend_with(cache, 1, sequence, i, 1);
        cache.keep(sequence, first, window);
        for (std::int64_t j = 0; j <= i; ++j) {
            if (j < first || j > i - window) {
                REQUIRE(holds(cache, 1, sequence, j, j));
            }
        }
    }
    CHECK(cache.length(sequence) == 500);
}

TEST_CASE("a cache that moves takes its memory along") {
    key_value_cache cache = cache_of(4, 4);
    const int sequence = cache.add();
    extend_with(cache, 1, sequence, 10, 5);
    const cache_tensors tensors = cache.tensors();
    key_value_cache moved = std::move(cache);
    CHECK(moved.tensors().key.data == tensors.key.data);
    CHECK(tensors.key.extents[0] == 4);
    CHECK(holds(moved, 1, sequence, 4, 14));
    cache = cache_of(2, 4);
    CHECK(cache.free_pages() == 2);
    cache = std::move(moved);
    CHECK(cache.free_pages() == 2);
    CHECK(cache.length(sequence) == 5);
}

TEST_CASE("a cache that cannot be is refused") {
    const auto made_of = [](const cache_options &options) {
        return refusal([&] { key_value_cache(some_variant(), options); });
    };
    CHECK(made_of(options_of(4, 4, 1, data_type::i32)) ==
          "heed::key_value_cache: type is i32, keys and values are f32, f16, bf16 or i8. Fix: pass one of these");
    CHECK(made_of({}) ==
          "heed::key_value_cache: pages is 0, it must be between 1 and 2147483647. Fix: pass the number of pages for "
          "all sequences");
    CHECK(made_of(options_of(4, 0)) ==
          "heed::key_value_cache: page_size is 0, it must be between 1 and 2147483647. Fix: pass the tokens of a page, "
          "for a contiguous cache those of the longest sequence");
    CHECK(made_of(options_of(4, 4, 0)) ==
          "heed::key_value_cache: layers is 0, it must be between 1 and 2147483647. Fix: pass the number of layers "
          "that use the page lists");
    for (const std::int64_t count : {std::int64_t{-1}, std::int64_t{1} << 31, INT64_MIN, INT64_MAX}) {
        CHECK(made_of(options_of(count, 4)) != "nothing was refused");
        CHECK(made_of(options_of(4, count)) != "nothing was refused");
        CHECK(made_of(options_of(4, 4, count)) != "nothing was refused");
    }
    CHECK(made_of(options_of(INT32_MAX, INT32_MAX)) ==
          "heed::key_value_cache: 2147483647 pages of 2147483647 tokens in 1 layers are more bytes than an address can "
          "reach: each token has 2 groups of 3 and 2 elements. Fix: pass fewer or smaller pages");
    CHECK(made_of(options_of(INT32_MAX, 1 << 20, 1 << 20)) != "nothing was refused");
    CHECK(made_of(options_of(1, INT32_MAX)) ==
          "heed::key_value_cache: 1 pages of 2147483647 tokens, 2 groups and 3 elements are more than 2147483647 "
          "elements "
          "in a layer, calls count them in 32 bits. Fix: spread sequences over several caches");
    CHECK_THROWS_AS(cache_of(1, INT32_MAX / 8, INT32_MAX / 64), heed::out_of_memory_error);
}

TEST_CASE("misuse of a sequence is refused and changes nothing") {
    key_value_cache cache = cache_of(8, 4, 2);
    const int sequence = cache.add();
    extend_with(cache, 2, sequence, 100, 18);
    cache.remove(cache.add());
    const std::vector<std::int32_t> before = pages_of(cache, sequence, 4);
    for (const int unknown : {-1, 1, 2, INT32_MAX, INT32_MIN}) {
        const std::string why = ": there is no sequence " + std::to_string(unknown) +
                                ": add() and fork() give numbers out, remove() takes them back. Fix: pass a number "
                                "that is in use";
        const std::string start = "heed::key_value_cache::";
        CHECK(refusal([&] { cache.fork(unknown); }) == start + "fork" + why);
        CHECK(refusal([&] { cache.remove(unknown); }) == start + "remove" + why);
        CHECK(refusal([&] { (void)cache.length(unknown); }) == start + "length" + why);
        CHECK(refusal([&] { cache.extend(unknown, 1); }) == start + "extend" + why);
        CHECK(refusal([&] { cache.truncate(unknown, 0); }) == start + "truncate" + why);
        CHECK(refusal([&] { cache.keep(unknown, 0, 0); }) == start + "keep" + why);
        CHECK(refusal([&] { (void)cache.view(unknown, 0); }) == start + "view" + why);
    }
    CHECK(refusal([&] { cache.extend(sequence, -1); }) ==
          "heed::key_value_cache::extend: sequence 0 is to get -1 tokens, which must not be negative. Fix: call "
          "truncate() to drop tokens");
    CHECK(refusal([&] { cache.truncate(sequence, 19); }) ==
          "heed::key_value_cache::truncate: sequence 0 has 18 tokens, 19 of them cannot stay. Fix: pass a length "
          "between 0 and 18, or call extend() for more tokens");
    CHECK(refusal([&] { cache.truncate(sequence, -1); }) ==
          "heed::key_value_cache::truncate: sequence 0 has 18 tokens, -1 of them cannot stay. Fix: pass a length "
          "between 0 and 18, or call extend() for more tokens");
    CHECK(refusal([&] { cache.keep(sequence, -1, 2); }) ==
          "heed::key_value_cache::keep: sequence 0 is to keep -1 first and 2 recent tokens, which must not be "
          "negative. Fix: pass 0 to keep none");
    CHECK(refusal([&] { cache.keep(sequence, 1, INT64_MIN); }) != "nothing was refused");
    CHECK(refusal([&] { (void)cache.view(sequence, 19); }) ==
          "heed::key_value_cache::view: sequence 0 has 18 tokens, 19 of them cannot be new. Fix: call extend() for the "
          "new tokens first");
    CHECK(refusal([&] { (void)cache.view(sequence, -1); }) != "nothing was refused");
    CHECK(refusal([&] { (void)cache.tensors(2); }) ==
          "heed::key_value_cache::tensors: layer is 2, the cache has layers 0 to 1. Fix: pass 'layers' to the "
          "constructor");
    CHECK(refusal([&] { (void)cache.tensors(-1); }) != "nothing was refused");
    CHECK(pages_of(cache, sequence, 4) == before);
    CHECK(cache.free_pages() == 3);

    cache.keep(sequence, 4, 3);
    CHECK(refusal([&] { cache.truncate(sequence, 12); }) ==
          "heed::key_value_cache::truncate: sequence 0 would end with token 11 of 18, which keep() has given up. Fix: "
          "let keep() keep as many recent tokens more as truncate() may drop, or drop fewer");
    CHECK(refusal([&] { cache.truncate(sequence, 5); }) != "nothing was refused");
    CHECK(cache.length(sequence) == 18);
    CHECK_NOTHROW(cache.truncate(sequence, 13));
    CHECK_NOTHROW(cache.truncate(sequence, 4));
    extend_with(cache, 2, sequence, 200, 8);
    CHECK(holds(cache, 2, sequence, 3, 103));
    CHECK(holds(cache, 2, sequence, 4, 200));
    CHECK(holds(cache, 2, sequence, 11, 207));
}

namespace {

/// A cache and what it must hold.
class checked_cache {
  public:
    checked_cache(std::int64_t pages, std::int64_t page_size)
        : cache_(cache_of(pages, page_size, layers, data_type::bf16)), pages_(pages), page_size_(page_size) {
        poison(cache_, layers);
    }

    /// A random operation on one of at most 64 sequences. The cache fills up or empties with the steps.
    void step(random_numbers &random, bool fills_up) {
        std::int64_t operation = random.integer(0, 99);
        const auto is = [&](int percent_filling, int percent_emptying) {
            const int percent = fills_up ? percent_filling : percent_emptying;
            operation -= percent;
            return operation < 0 && operation >= -percent;
        };
        const bool has_numbers = sequences_.size() < 64;
        if (is(15, 3) || sequences_.empty()) {
            if (has_numbers) {
                CHECK(sequences_.emplace(cache_.add(), tokens{}).second);
            }
            return;
        }
        const auto chosen =
            std::next(sequences_.begin(), random.integer(0, static_cast<std::int64_t>(sequences_.size()) - 1));
        const auto &[number, held] = *chosen;
        const auto length = static_cast<std::int64_t>(held.size());
        if (is(35, 30)) {
            extend(number, random.integer(0, 5));
        } else if (is(10, 2)) {
            extend(number, random.integer(0, std::min<std::int64_t>(3 * page_size_, 100)));
        } else if (is(15, 15)) {
            if (has_numbers) {
                CHECK(sequences_.emplace(cache_.fork(number), held).second);
            }
        } else if (is(8, 20)) {
            truncate(number, length - random.integer(0, std::min<std::int64_t>(length, operation % 2 == 0 ? 6 : 500)));
        } else if (is(12, 15)) {
            keep(number, random.integer(0, 10), random.integer(0, 20));
        } else {
            cache_.remove(number);
            sequences_.erase(chosen);
        }
        most_sequences_ = std::max(most_sequences_, sequences_.size());
    }

    /// Every page is free or used, once; every token that was not given up is where it must be.
    void check() {
        std::set<std::int32_t> used;
        std::int64_t wrong = 0;
        for (const auto &[number, held] : sequences_) {
            const auto length = static_cast<std::int64_t>(held.size());
            wrong += cache_.length(number) != length;
            const std::vector<std::int32_t> list = pages_of(cache_, number, page_size_);
            for (std::int64_t i = 0; i < length; ++i) {
                const std::int32_t page = list[static_cast<std::size_t>(i / page_size_)];
                const std::int64_t id = held[static_cast<std::size_t>(i)];
                wrong += (page == -1) != (id == given_up) || page < -1 || page >= pages_ ||
                         (page != -1 && !holds(cache_, layers, number, i, id));
            }
            used.insert(list.begin(), list.end());
        }
        REQUIRE(wrong == 0);
        used.erase(-1);
        REQUIRE(cache_.free_pages() + static_cast<std::int64_t>(used.size()) == pages_);
        for (const std::int32_t page : used_) {
            if (used.count(page) == 0) {
                poison_page(cache_, layers, page);
            }
        }
        used_ = std::move(used);
    }

    void remove_all() {
        for (const auto &each : sequences_) {
            cache_.remove(each.first);
        }
        sequences_.clear();
    }

    std::int64_t free_pages() const { return cache_.free_pages(); }
    int refusals() const { return refusals_; }
    int copies() const { return copies_; }
    std::size_t most_sequences() const { return most_sequences_; }

  private:
    static constexpr int layers = 2;
    static constexpr std::int64_t given_up = -1;
    using tokens = std::vector<std::int64_t>;

    int users_of(std::int32_t page) const {
        int users = 0;
        for (const auto &each : sequences_) {
            const std::vector<std::int32_t> list = pages_of(cache_, each.first, page_size_);
            users += static_cast<int>(std::count(list.begin(), list.end(), page));
        }
        return users;
    }

    void extend(int number, std::int64_t count) {
        tokens &held = sequences_[number];
        const auto length = static_cast<std::int64_t>(held.size());
        const std::vector<std::int32_t> before = pages_of(cache_, number, page_size_);
        std::int64_t needed = 0;
        bool copies = false;
        for (std::int64_t i = length; i < length + count; ++i) {
            if (i % page_size_ == 0) {
                ++needed;
            } else if (i == length && users_of(before.back()) > 1) {
                ++needed;
                copies = true;
            }
        }
        const std::int64_t free = cache_.free_pages();
        if (needed > free) {
            REQUIRE_THROWS_AS(cache_.extend(number, count), heed::cache_full_error);
            REQUIRE(pages_of(cache_, number, page_size_) == before);
            ++refusals_;
            return;
        }
        REQUIRE_NOTHROW(cache_.extend(number, count));
        REQUIRE(cache_.free_pages() == free - needed);
        copies_ += copies;
        const std::vector<std::int32_t> after = pages_of(cache_, number, page_size_);
        for (std::int64_t i = length; i < length + count; ++i) {
            REQUIRE(
                (i != length && i % page_size_ != 0 ? 1 : users_of(after[static_cast<std::size_t>(i / page_size_)])) ==
                1);
            held.push_back(next_token_++);
            write(cache_, layers, number, i, held.back());
        }
    }

    void truncate(int number, std::int64_t length) {
        tokens &held = sequences_[number];
        const auto size = static_cast<std::size_t>(length);
        if (size > 0 && size < held.size() && held[size - 1] == given_up) {
            REQUIRE_THROWS_AS(cache_.truncate(number, length), heed::invalid_argument_error);
            return;
        }
        REQUIRE_NOTHROW(cache_.truncate(number, length));
        held.resize(size);
    }

    void keep(int number, std::int64_t first, std::int64_t recent) {
        cache_.keep(number, first, recent);
        tokens &held = sequences_[number];
        const auto length = static_cast<std::int64_t>(held.size());
        for (std::int64_t page = 0; page < length / page_size_; ++page) {
            const std::int64_t begin = page * page_size_, end = begin + page_size_;
            if (begin >= first && end <= length - recent) {
                std::fill(held.begin() + begin, held.begin() + end, given_up);
            }
        }
    }

    key_value_cache cache_;
    std::int64_t pages_, page_size_, next_token_ = 0;
    std::map<int, tokens> sequences_;
    std::set<std::int32_t> used_;
    int refusals_ = 0, copies_ = 0;
    std::size_t most_sequences_ = 0;
};

void check_random_operations(std::int64_t pages, std::int64_t page_size) {
    random_numbers random;
    INFO("HEED_TEST_SEED=", random.seed(), ", page_size ", page_size);
    checked_cache cache(pages, page_size);
    const int steps = release_build ? 10'000 : 1'000;
    for (int i = 0; i < steps; ++i) {
        CAPTURE(i);
        cache.step(random, i / 250 % 2 == 0);
        cache.check();
    }
    // The steps came to the corners.
    CHECK(cache.refusals() > steps / 200);
    CHECK((page_size == 1 || cache.copies() > steps / 100));
    CHECK(cache.most_sequences() == 64);
    cache.remove_all();
    cache.check();
    CHECK(cache.free_pages() == pages);
}

}  // namespace

TEST_CASE("random operations: pages of one token") { check_random_operations(300, 1); }
TEST_CASE("random operations: pages of 7 tokens") { check_random_operations(80, 7); }
TEST_CASE("random operations: pages of 16 tokens") { check_random_operations(60, 16); }
TEST_CASE("random operations: one page for a sequence") { check_random_operations(48, 64); }
