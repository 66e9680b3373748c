// SPDX-License-Identifier: MIT
//
// The words for masks, scores and relative positions, each from its definition in the literature. Most variants here
// have a mask and a score to test; the readings tell them apart when a test fails.
#include <verify.hpp>

#include "heed_word_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

using namespace heed::tests;

namespace {

const std::vector<lengths> some_lengths{{1, 1}, {1, 130}, {65, 65}, {70, 257}, {200, 200}};

double distance(const pair &at) { return static_cast<double>(std::abs(at.q - at.kv)); }

template <int Rank>
tensor<float, Rank> random_table(const index_list<Rank> &extents, std::uint64_t salt, double largest = 2) {
    tensor<float, Rank> made(extents);
    filler(salt).fill(made, largest);
    return made;
}

/// T5's relative_position_bucket, as its authors wrote it.
std::int64_t t5_bucket(std::int64_t query, std::int64_t key, bool bidirectional, std::int64_t buckets,
                       std::int64_t max_distance) {
    std::int64_t bucket = 0, n = query - key;
    if (bidirectional) {
        buckets /= 2;
        if (n < 0) bucket += buckets;
        n = std::abs(n);
    } else {
        n = std::max<std::int64_t>(n, 0);
    }
    const std::int64_t exact = buckets / 2;
    if (n < exact) return bucket + n;
    const double share = std::log(static_cast<double>(n) / static_cast<double>(exact)) /
                         std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
    // What is whole in exact arithmetic stays so.
    const auto large = exact + static_cast<std::int64_t>(share * static_cast<double>(buckets - exact) + 1e-9);
    return bucket + std::min(large, buckets - 1);
}

/// A token of an image or video.
struct token {
    std::int64_t frame, y, x;
};

token token_of(std::int64_t position, std::int64_t height, std::int64_t width) {
    return {position / (height * width), position / width % height, position % width};
}

bool within(std::int64_t a, std::int64_t b, std::int64_t radius) { return std::abs(a - b) <= radius; }

/// NATTEN: the window around a token starts where it fits.
bool in_shifted_window(std::int64_t query, std::int64_t key, std::int64_t length, std::int64_t radius) {
    const std::int64_t start = std::clamp<std::int64_t>(query - radius, 0, length - 2 * radius - 1);
    return key >= start && key <= start + 2 * radius;
}

}  // namespace

TEST_CASE("dilated_window: every third of the latest keys, five of them; temperature divides") {
    for (const lengths &sizes : some_lengths) {
        verify(kernels::dilated, sizes,
               {.attends =
                    [](const pair &at) {
                        for (std::int64_t step = 0; step < 5; ++step) {
                            if (at.kv == at.q - 3 * step) return true;
                        }
                        return false;
                    },
                .modify = [](double score, const pair &) { return score / 2.5; }});
    }
}

TEST_CASE("neighbourhood: so many keys to both sides; a scale for each head") {
    const auto gain = table<float>({3.0f, -0.5f});
    for (const lengths &sizes : some_lengths) {
        verify(kernels::near, sizes, {gain.view()},
               {.attends = [](const pair &at) { return at.kv >= at.q - 17 && at.kv <= at.q + 17; },
                .modify = [&](double score, const pair &at) { return score * double{gain(at.head)}; }});
    }
}

TEST_CASE("prefix_lm: the prefix sees itself, the rest is causal; scores grow with log(position + 1)") {
    const std::vector<std::int32_t> prefixes{0, 100};
    const auto prefix = table(prefixes);
    const auto s = table<float>({0.5f, 1.5f});
    for (const lengths &sizes : some_lengths) {
        verify(
            kernels::with_prefix, sizes, {prefix.view(), s.view()},
            {.attends =
                 [&](const pair &at) { return at.kv < prefixes[static_cast<std::size_t>(at.batch)] || at.kv <= at.q; },
             .modify =
                 [&](double score, const pair &at) {
                     return score * double{s(at.head)} * std::log(static_cast<double>(at.q + 1));
                 }});
    }
}

TEST_CASE("strided: keys whole strides away, earlier and later; temperature by position") {
    for (const lengths &sizes : some_lengths) {
        verify(kernels::every_fifth, sizes,
               {.attends = [](const pair &at) { return std::abs(at.q - at.kv) % 5 == 0; },
                .modify =
                    [](double score, const pair &at) {
                        const double steps = std::floor(static_cast<double>(at.q + 1) / 16);
                        return score * (0.5 * std::log(steps + 1) + 1);
                    }});
    }
}

TEST_CASE("sparse_strided: the stride before a query, then every stride-th key; KERPLE's logarithms") {
    const auto r1 = table<float>({0.5f, 2.0f}), r2 = table<float>({1.0f, 0.1f});
    for (const lengths &sizes : some_lengths) {
        verify(kernels::sparse_by_stride, sizes, {r1.view(), r2.view()},
               {.attends =
                    [](const pair &at) {
                        // Child et al. 2019, section 4.3: A(1) = {max(0, i - l) ... i}, A(2) = {j: (i - j) mod l = 0}.
                        const bool recent = at.kv >= std::max<std::int64_t>(0, at.q - 7) && at.kv <= at.q;
                        return recent || (at.kv <= at.q && (at.q - at.kv) % 7 == 0);
                    },
                .modify =
                    [&](double score, const pair &at) {
                        return score - double{r1(at.head)} * std::log(1 + double{r2(at.head)} * distance(at));
                    }});
    }
}

TEST_CASE("block_ends: the last keys of each block; a cap, then ALiBi") {
    for (const lengths &sizes : some_lengths) {
        verify(kernels::ends_of_blocks, sizes,
               {.attends = [](const pair &at) { return at.kv % 16 == 13 || at.kv % 16 == 14 || at.kv % 16 == 15; },
                .modify = [](double score,
                             const pair &at) { return soft_cap(score, 5) - alibi_slope(at.head, 3) * distance(at); }});
    }
}

TEST_CASE("sparse_fixed: a query's block and the ends of earlier ones; T5's buckets of a decoder") {
    const auto bias = random_table<2>({32, 2}, 60);
    for (const lengths &sizes : {lengths{1, 1}, {1, 130}, {65, 65}, {70, 257}, {300, 300}}) {
        verify(kernels::sparse_by_blocks, sizes, {bias.view()},
               {.attends =
                    [](const pair &at) {
                        const bool same_block = at.q / 16 == at.kv / 16;
                        return at.kv <= at.q && (same_block || at.kv % 16 >= 13);
                    },
                .modify =
                    [&](double score, const pair &at) {
                        return score + double{bias(t5_bucket(at.q, at.kv, false, 32, 128), at.head)};
                    },
                .scale = 1});
    }
}

TEST_CASE("blocks: keys of the same block; T5's buckets of an encoder") {
    const auto bias = random_table<2>({32, 2}, 61);
    for (const lengths &sizes : {lengths{1, 1}, {1, 130}, {65, 65}, {70, 257}, {310, 310}}) {
        verify(kernels::in_blocks, sizes, {bias.view()},
               {.attends = [](const pair &at) { return at.q / 150 == at.kv / 150; },
                .modify =
                    [&](double score, const pair &at) {
                        return score + double{bias(t5_bucket(at.q, at.kv, true, 32, 128), at.head)};
                    },
                .scale = 1});
    }
}

TEST_CASE("neighbouring_blocks: a query's block and those beside it; biases of clipped distances") {
    const auto bias = random_table<2>({19, 2}, 62);
    for (const lengths &sizes : some_lengths) {
        verify(kernels::near_blocks, sizes, {bias.view()},
               {.attends = [](const pair &at) { return within(at.q / 16, at.kv / 16, 1); },
                .modify =
                    [&](double score, const pair &at) {
                        return score + double{bias(std::clamp<std::int64_t>(at.kv - at.q, -9, 9) + 9, at.head)};
                    }});
    }
}

TEST_CASE("random_blocks: those that a table lists, by head; -1 leaves a slot empty") {
    for (const lengths &sizes : some_lengths) {
        const std::int64_t query_blocks = (sizes.kv_len + 15) / 16;
        tensor<std::int32_t, 3> listed({2, query_blocks, 3});
        filler(63).fill(listed, -1, query_blocks - 1);
        verify(kernels::listed_blocks, sizes, {listed.view()}, {.attends = [&](const pair &at) {
                   std::set<std::int64_t> seen;
                   for (std::int64_t slot = 0; slot < 3; ++slot) seen.insert(listed(at.head, at.q / 16, slot));
                   return seen.count(at.kv / 16) > 0;
               }});
    }
    // Without keys the blocks of queries, which stand before position 0, are read nowhere.
    const tensor<std::int32_t, 3> nothing({2, 0, 3});
    verify(kernels::listed_blocks, lengths{65, 0}, {nothing.view()}, {});
}

TEST_CASE("marked_blocks: any layout of blocks") {
    for (const lengths &sizes : some_lengths) {
        const std::int64_t blocks = (sizes.kv_len + 15) / 16;
        tensor<std::int32_t, 3> layout({sizes.batch, blocks, blocks});
        filler(64).fill(layout, -1, 1);
        verify(kernels::marked, sizes, {layout.view()},
               {.attends = [&](const pair &at) { return layout(at.batch, at.q / 16, at.kv / 16) != 0; }});
    }
}

TEST_CASE("marked_keys: those that a table marks") {
    for (const lengths &sizes : some_lengths) {
        tensor<std::int32_t, 2> seen({sizes.batch, sizes.kv_len});
        filler(65).fill(seen, 0, 1);
        verify(kernels::keys_marked, sizes, {seen.view()},
               {.attends = [&](const pair &at) { return seen(at.batch, at.kv) == 1; }});
    }
}

TEST_CASE("global_tokens: they see all and all see them, the first ones or marked ones") {
    for (const lengths &sizes : some_lengths) {
        verify(kernels::first_are_global, sizes,
               {.attends = [](const pair &at) { return within(at.q, at.kv, 8) || at.q < 3 || at.kv < 3; }});
        tensor<std::int32_t, 2> global({sizes.batch, sizes.kv_len});
        for_each_index<2>(global.extents(), [&](const auto &at) { global[at] = at[1] % 60 == 7 * at[0] ? 1 : 0; });
        verify(kernels::some_are_global, sizes, {global.view()}, {.attends = [&](const pair &at) {
                   return within(at.q, at.kv, 8) || global(at.batch, at.q) == 1 || global(at.batch, at.kv) == 1;
               }});
    }
}

TEST_CASE("padded_left, padded and padded_queries: sequences of different lengths") {
    const auto firsts = table<std::int32_t>({0, 1, 40, 127, 128, 500});
    for (const std::int64_t q_len : {1, 64, 200}) {
        verify(kernels::left_padded, lengths{q_len, 200, 6}, {firsts.view()},
               {.attends = [&](const pair &at) { return causal(at) && at.kv >= firsts(at.batch); }});
    }
    const auto key_counts = table<std::int32_t>({0, 1, 40, 127, 128, 150}),
               query_counts = table<std::int32_t>({70, 0, 1, 100, 64, 99});
    verify(kernels::both_padded, lengths{100, 150, 6}, {key_counts.view(), query_counts.view()},
           {.attends = [&](const pair &at) { return at.kv < key_counts(at.batch) && at.q < query_counts(at.batch); },
            .query_start = [](std::int64_t) { return 0; }});
}

TEST_CASE("neighbourhood_2d: rows and columns nearby, cut off at the border; a bias by offset") {
    const auto bias = random_table<2>({5 * 7, 2}, 66);
    for (const std::int64_t height : {1, 7, 12}) {
        verify(kernels::image, lengths{11 * height, 11 * height}, {bias.view()},
               {.attends =
                    [](const pair &at) {
                        const token q = token_of(at.q, 1000, 11), k = token_of(at.kv, 1000, 11);
                        return within(q.y, k.y, 2) && within(q.x, k.x, 3);
                    },
                .modify =
                    [&](double score, const pair &at) {
                        const token q = token_of(at.q, 1000, 11), k = token_of(at.kv, 1000, 11);
                        const std::int64_t y = std::clamp<std::int64_t>(q.y - k.y, -2, 2),
                                           x = std::clamp<std::int64_t>(q.x - k.x, -3, 3);
                        return score + double{bias((y + 2) * 7 + x + 3, at.head)};
                    }});
    }
}

TEST_CASE("neighbourhood_3d: frames, rows and columns nearby") {
    verify(kernels::video, lengths{7 * 20, 7 * 20}, {.attends = [](const pair &at) {
               const token q = token_of(at.q, 4, 5), k = token_of(at.kv, 4, 5);
               return within(q.frame, k.frame, 1) && within(q.y, k.y, 2) && within(q.x, k.x, 1);
           }});
}

TEST_CASE("shifted neighbourhoods: every query sees as many keys") {
    const auto in_line = [](const pair &at) { return in_shifted_window(at.q, at.kv, 100, 6); };
    const auto in_image = [](const pair &at) {
        const token q = token_of(at.q, 8, 12), k = token_of(at.kv, 8, 12);
        return in_shifted_window(q.y, k.y, 8, 2) && in_shifted_window(q.x, k.x, 12, 1);
    };
    const auto in_video = [](const pair &at) {
        const token q = token_of(at.q, 5, 7), k = token_of(at.kv, 5, 7);
        return in_shifted_window(q.frame, k.frame, 3, 1) && in_shifted_window(q.y, k.y, 5, 2) &&
               in_shifted_window(q.x, k.x, 7, 1);
    };
    int in_corner = 0;
    for (std::int64_t key = 0; key < 96; ++key) in_corner += in_image({0, 0, 95, key}) ? 1 : 0;
    CHECK(in_corner == 5 * 3);
    verify(kernels::shifted_line, lengths{100, 100}, {.attends = in_line});
    verify(kernels::shifted_image, lengths{96, 96}, {.attends = in_image});
    verify(kernels::shifted_video, lengths{105, 105}, {.attends = in_video});
}

TEST_CASE("windows_2d: Swin's windows, shifted; its bias") {
    const auto bias = random_table<2>({7 * 7, 2}, 67);
    verify(kernels::shifted_windows, lengths{14 * 10, 14 * 10}, {bias.view()},
           {.attends =
                [](const pair &at) {
                    const token q = token_of(at.q, 1000, 14), k = token_of(at.kv, 1000, 14);
                    return (q.y + 2) / 4 == (k.y + 2) / 4 && (q.x + 1) / 4 == (k.x + 1) / 4;
                },
            .modify =
                [&](double score, const pair &at) {
                    const token q = token_of(at.q, 1000, 14), k = token_of(at.kv, 1000, 14);
                    const std::int64_t y = std::clamp<std::int64_t>(q.y - k.y, -3, 3),
                                       x = std::clamp<std::int64_t>(q.x - k.x, -3, 3);
                    return score + double{bias((y + 3) * 7 + x + 3, at.head)};
                }});
}

TEST_CASE("swin_bias: one window, with the index of the authors' code") {
    const auto bias = random_table<2>({9 * 11, 2}, 68);
    // relative_position_index: offsets shifted to start from 0, rows times 2 width - 1.
    verify(kernels::one_window, lengths{30, 30}, {bias.view()}, {.modify = [&](double score, const pair &at) {
               const token q = token_of(at.q, 5, 6), k = token_of(at.kv, 5, 6);
               return score + double{bias((q.y - k.y + 5 - 1) * (2 * 6 - 1) + q.x - k.x + 6 - 1, at.head)};
           }});
}
