// SPDX-License-Identifier: MIT
//
// Masks against sets of pairs written out by hand.
#include <heed/heed.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

using namespace heed;

namespace {

/// One row per query, one column per key, 'x' where the query attends.
template <class Mask, class Read = no_inputs>
std::string picture(const Mask &mask, int queries, int keys, Read read = {}) {
    std::string rows;
    for (int q = 0; q < queries; ++q) {
        for (int kv = 0; kv < keys; ++kv) {
            rows += evaluate(mask, environment_of({.q = q, .kv = kv, .kv_len = keys}, 0, read)) ? 'x' : '.';
        }
        rows += '\n';
    }
    return rows;
}

/// The keys that a query sees in frames of an image, one row of text per row.
template <class Mask>
std::string seen_from(const Mask &mask, std::int64_t query, int rows, int columns) {
    std::string image;
    for (int kv = 0; kv < rows * columns; ++kv) {
        image += evaluate(mask, environment_of({.q = query, .kv = kv, .kv_len = rows * columns})) ? 'x' : '.';
        if (kv % columns == columns - 1) image += '\n';
    }
    return image;
}

/// Reads a table of one batch element, or of one head; other indices before the last are 0.
template <std::size_t Size>
auto table_of(const std::array<int, Size> &values) {
    return [values](auto, std::int64_t first, std::int64_t position) {
        CHECK(first == 0);
        return values.at(static_cast<std::size_t>(position));
    };
}

constexpr auto with(auto mask) { return variant(heads = 1_c, head_dim = 1_c, mask_{} = mask); }

// The compiler evaluates them too.
constexpr auto chunked = with(causal && blocks(4_c));
static_assert(attends(chunked, {.q = 7, .kv = 4}));
static_assert(!attends(chunked, {.q = 7, .kv = 3}));
static_assert(!attends(chunked, {.q = 4, .kv = 5}));

constexpr auto video = with(shifted_neighbourhood_3d(4_c, 3_c, 4_c, 1_c, 1_c, 1_c));
static_assert(attends(video, {.q = 0, .kv = 2 * 12 + 2 * 4 + 2}));
static_assert(!attends(video, {.q = 0, .kv = 3 * 12}));
static_assert(!attends(video, {.q = 0, .kv = 3}));

}  // namespace

TEST_CASE("causal") { CHECK(picture(causal, 3, 4) == "x...\nxx..\nxxx.\n"); }

TEST_CASE("sliding_window holds the most recent keys, the query's own included") {
    CHECK(picture(causal && sliding_window(2_c), 4, 4) == "x...\nxx..\n.xx.\n..xx\n");
    CHECK(picture(sliding_window(2), 4, 4) == "xxxx\nxxxx\n.xxx\n..xx\n");
}

TEST_CASE("first_tokens") { CHECK(picture(first_tokens(2_c), 2, 4) == "xx..\nxx..\n"); }

TEST_CASE("padded cuts each batch element at its own length") {
    const auto length = [](auto input, std::int64_t batch) {
        CHECK(input.name() == "kv_len");
        return batch == 0 ? 3 : 9;
    };
    CHECK(picture(padded, 2, 4, length) == "xxx.\nxxx.\n");
    CHECK(evaluate(padded, environment_of({.q = 0, .kv = 8, .batch = 1}, 0, length)));
    CHECK(!evaluate(padded, environment_of({.q = 0, .kv = 9, .batch = 1}, 0, length)));
}

TEST_CASE("masks combine") {
    CHECK(picture(causal && (sliding_window(2_c) || first_tokens(1_c)), 4, 4) == "x...\nxx..\nxxx.\nx.xx\n");
    CHECK(picture(!causal, 3, 3) == ".xx\n..x\n...\n");
}

TEST_CASE("dilated_window: every second of the most recent keys") {
    CHECK(picture(causal && dilated_window(3_c, 2_c), 7, 7) ==
          "x......\n.x.....\nx.x....\n.x.x...\nx.x.x..\n.x.x.x.\n..x.x.x\n");
    CHECK(picture(dilated_window(1, 3), 4, 8) == "x..x..x.\n.x..x..x\n..x..x..\n...x..x.\n");
}

TEST_CASE("widths that come with the call stop at 2^30, so that no position less a width leaves 32 bits") {
    const auto width_of = [](std::int64_t width) { return [width](auto) { return width; }; };
    const auto width = input<"width", i32>();
    const auto all = width_of(std::numeric_limits<std::int32_t>::max());
    const auto none = width_of(std::numeric_limits<std::int32_t>::min());
    CHECK(picture(sliding_window(width), 4, 4, width_of(2)) == picture(sliding_window(2_c), 4, 4));
    CHECK(picture(causal && sliding_window(width), 4, 4, all) == picture(causal, 4, 4));
    CHECK(picture(sliding_window(width), 2, 2, none) == "..\n..\n");
    CHECK(picture(neighbourhood(width), 4, 4, width_of(1)) == picture(neighbourhood(1_c), 4, 4));
    CHECK(picture(neighbourhood(width), 2, 2, all) == "xx\nxx\n");
    CHECK(picture(causal && dilated_window(width, 2_c), 5, 5, width_of(2)) ==
          picture(causal && dilated_window(2_c, 2_c), 5, 5));
    CHECK(picture(causal && dilated_window(width, 2_c), 5, 5, all) == picture(causal && strided(2_c), 5, 5));
    CHECK(picture(causal && dilated_window(2_c, width), 5, 5, width_of(2)) ==
          picture(causal && dilated_window(2_c, 2_c), 5, 5));
    CHECK(picture(dilated_window(width, width), 3, 3, all) == "x..\n.x.\n..x\n");
    CHECK(formula(sliding_window(width)) ==
          "q_pos - kv_pos < min(max(input<\"width\", i32>(), -1073741824), 1073741824)");
    CHECK(formula(sliding_window(128_c)) == "q_pos - kv_pos < 128");
}

TEST_CASE("neighbourhood reaches to both sides") {
    CHECK(picture(neighbourhood(1_c), 4, 4) == "xx..\nxxx.\n.xxx\n..xx\n");
    CHECK(picture(neighbourhood(2_c) && strided(2_c), 5, 5) == "x.x..\n.x.x.\nx.x.x\n.x.x.\n..x.x\n");
}

TEST_CASE("prefix_lm: the prefix sees all of itself") {
    CHECK(picture(prefix_lm(2_c), 4, 4) == "xx..\nxx..\nxxx.\nxxxx\n");
    CHECK(picture(prefix_lm(0), 3, 3) == "x..\nxx.\nxxx\n");
    const auto of_batch = prefix_lm(input<"prefix", i32>[batch]);
    const auto length = [](auto, std::int64_t element) { return element == 1 ? 3 : 0; };
    CHECK(evaluate(of_batch, environment_of({.q = 0, .kv = 2, .batch = 1}, 0, length)));
    CHECK(!evaluate(of_batch, environment_of({.q = 0, .kv = 2, .batch = 0}, 0, length)));
}

TEST_CASE("strided and fixed attention of the Sparse Transformer") {
    CHECK(picture(strided(3_c), 2, 7) == "x..x..x\n.x..x..\n");
    CHECK(picture(sparse_strided(3_c), 8, 8) ==
          "x.......\nxx......\nxxx.....\nxxxx....\n.xxxx...\n..xxxx..\nx..xxxx.\n.x..xxxx\n");
    CHECK(picture(block_ends(4_c, 2_c), 1, 8) == "..xx..xx\n");
    CHECK(picture(sparse_fixed(4_c, 1_c), 8, 8) ==
          "x.......\nxx......\nxxx.....\nxxxx....\n...xx...\n...xxx..\n...xxxx.\n...xxxxx\n");
    CHECK(picture(sparse_fixed(3_c, 2_c), 7, 7) == "x......\nxx.....\nxxx....\n.xxx...\n.xxxx..\n.xxxxx.\n.xx.xxx\n");
}

TEST_CASE("blocks") {
    CHECK(picture(blocks(2_c), 4, 5) == "xx...\nxx...\n..xx.\n..xx.\n");
    CHECK(picture(causal && blocks(3), 6, 6) == "x.....\nxx....\nxxx...\n...x..\n...xx.\n...xxx\n");
    CHECK(picture(neighbouring_blocks(2_c, 1_c), 6, 6) == "xxxx..\nxxxx..\nxxxxxx\nxxxxxx\n..xxxx\n..xxxx\n");
}

TEST_CASE("random_blocks reads a list of key blocks for each block of queries") {
    constexpr auto listed = input<"blocks", i32>;
    const auto slots = [](auto, std::int64_t query_block, std::int64_t slot) {
        constexpr int lists[3][2] = {{2, -1}, {0, 1}, {1, 1}};
        return lists[query_block][slot];
    };
    CHECK(picture(random_blocks(2_c, 2_c, listed), 6, 6, slots) == "....xx\n....xx\nxxxx..\nxxxx..\n..xx..\n..xx..\n");
    CHECK(picture(random_blocks(2_c, 1_c, listed), 6, 6, slots) == "....xx\n....xx\nxx....\nxx....\n..xx..\n..xx..\n");
    // BigBird: random, window, global.
    CHECK(picture(random_blocks(2_c, 2_c, listed) || blocks(2_c) || global_tokens(1_c), 6, 6, slots) ==
          "xxxxxx\nxx..xx\nxxxx..\nxxxx..\nx.xxxx\nx.xxxx\n");

    const auto of_head = random_blocks(2_c, 2_c, listed, head);
    const auto head_slots = [](auto, std::int64_t of, std::int64_t query_block, std::int64_t slot) {
        return of == 3 && query_block == 1 && slot == 1 ? 2 : -1;
    };
    CHECK(evaluate(of_head, environment_of({.q = 3, .kv = 4, .head = 3}, 0, head_slots)));
    CHECK(!evaluate(of_head, environment_of({.q = 3, .kv = 4, .head = 2}, 0, head_slots)));
    CHECK(!evaluate(of_head, environment_of({.q = 4, .kv = 4, .head = 3}, 0, head_slots)));
}

TEST_CASE("marked_blocks reads a table of blocks") {
    const auto marks = [](auto, std::int64_t query_block, std::int64_t key_block) {
        constexpr int table[3][3] = {{1, 0, 5}, {0, -1, 0}, {0, 0, 0}};
        return table[query_block][key_block];
    };
    CHECK(picture(marked_blocks(2_c, input<"live", i32>), 6, 6, marks) ==
          "xx..xx\nxx..xx\n..xx..\n..xx..\n......\n......\n");
}

TEST_CASE("tokens that tables tell apart") {
    CHECK(picture(same(input<"document", i32>), 6, 6, table_of(std::array{7, 7, 3, 3, 3, 7})) ==
          "xx...x\nxx...x\n..xxx.\n..xxx.\n..xxx.\nxx...x\n");
    CHECK(picture(marked_keys(input<"attention_mask", i32>), 2, 3, table_of(std::array{1, 0, 1})) == "x.x\nx.x\n");
    CHECK(picture(global_tokens(input<"is_global", i32>), 4, 4, table_of(std::array{0, 0, 1, 0})) ==
          "..x.\n..x.\nxxxx\n..x.\n");
    CHECK(picture(global_tokens(1_c), 3, 3) == "xxx\nx..\nx..\n");
}

TEST_CASE("padding on the left, and of queries") {
    const auto two = [](auto input, std::int64_t) {
        CHECK((input.name() == "first_key" || input.name() == "query_end"));
        return 2;
    };
    CHECK(picture(padded_left, 2, 4, two) == "..xx\n..xx\n");
    CHECK(picture(padded_queries, 3, 2, two) == "xx\nxx\n..\n");
}

TEST_CASE("neighbourhood_2d is cut off at the border") {
    constexpr auto mask = neighbourhood_2d(4_c, 1_c, 1_c);
    CHECK(seen_from(mask, 0, 3, 4) == "xx..\nxx..\n....\n");
    CHECK(seen_from(mask, 6, 3, 4) == ".xxx\n.xxx\n.xxx\n");
    CHECK(seen_from(mask, 11, 3, 4) == "....\n..xx\n..xx\n");
    CHECK(seen_from(neighbourhood_2d(4, 0, 2), 5, 3, 4) == "....\nxxxx\n....\n");
    CHECK(seen_from(neighbourhood_2d(4, 2, 0), 1, 3, 4) == ".x..\n.x..\n.x..\n");
}

TEST_CASE("neighbourhood_3d is cut off at the borders") {
    // Frames of 2 x 3; the query is frame 0, row 1, column 0.
    CHECK(seen_from(neighbourhood_3d(2_c, 3_c, 1_c, 0_c, 1_c), 3, 6, 3) == "...\nxx.\n...\nxx.\n...\n...\n");
    CHECK(seen_from(neighbourhood_3d(2_c, 3_c, 0_c, 1_c, 0_c), 7, 6, 3) == "...\n...\n.x.\n.x.\n...\n...\n");
}

TEST_CASE("shifted neighbourhoods have the same size everywhere") {
    CHECK(picture(shifted_neighbourhood(5_c, 1_c), 5, 5) == "xxx..\nxxx..\n.xxx.\n..xxx\n..xxx\n");
    CHECK(picture(shifted_neighbourhood(5, 1), 5, 5) == "xxx..\nxxx..\n.xxx.\n..xxx\n..xxx\n");

    constexpr auto mask = shifted_neighbourhood_2d(5_c, 4_c, 1_c, 1_c);
    CHECK(seen_from(mask, 0, 5, 4) == "xxx.\nxxx.\nxxx.\n....\n....\n");
    CHECK(seen_from(mask, 10, 5, 4) == "....\n.xxx\n.xxx\n.xxx\n....\n");
    CHECK(seen_from(mask, 19, 5, 4) == "....\n....\n.xxx\n.xxx\n.xxx\n");
    CHECK(seen_from(shifted_neighbourhood_2d(5_c, 4_c, 2_c, 0_c), 3, 5, 4) == "...x\n...x\n...x\n...x\n...x\n");

    constexpr auto frames = shifted_neighbourhood_3d(4_c, 3_c, 4_c, 1_c, 1_c, 1_c);
    const std::string nothing = "....\n....\n....\n", left = "xxx.\nxxx.\nxxx.\n", right = ".xxx\n.xxx\n.xxx\n";
    CHECK(seen_from(frames, 0, 12, 4) == left + left + left + nothing);
    CHECK(seen_from(frames, 47, 12, 4) == nothing + right + right + right);
}

TEST_CASE("windows_2d tile the image, also from before its corner") {
    constexpr auto mask = windows_2d(4_c, 2_c, 2_c);
    CHECK(seen_from(mask, 0, 4, 4) == "xx..\nxx..\n....\n....\n");
    CHECK(seen_from(mask, 6, 4, 4) == "..xx\n..xx\n....\n....\n");
    constexpr auto shifted = windows_2d(4_c, 2_c, 2_c, 1_c, 1_c);
    CHECK(seen_from(shifted, 0, 4, 4) == "x...\n....\n....\n....\n");
    CHECK(seen_from(shifted, 1, 4, 4) == ".xx.\n....\n....\n....\n");
    CHECK(seen_from(shifted, 5, 4, 4) == "....\n.xx.\n.xx.\n....\n");
    CHECK(seen_from(shifted, 15, 4, 4) == "....\n....\n....\n...x\n");
    // Windows of 3 that begin 1 before the image: rows 0-1 and 2-4, columns 0-1 and 2-3.
    CHECK(seen_from(windows_2d(4_c, 3_c, 3_c, 1_c, 1_c), 4, 5, 4) == "xx..\nxx..\n....\n....\n....\n");
    CHECK(seen_from(windows_2d(4_c, 3_c, 3_c, 1_c, 0_c), 8, 5, 4) == "....\n....\nxxx.\nxxx.\nxxx.\n");
    CHECK(seen_from(windows_2d(4, 1, 4), 6, 4, 4) == "....\nxxxx\n....\n....\n");
}
