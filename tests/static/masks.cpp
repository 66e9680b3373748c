// SPDX-License-Identifier: MIT
//
// Masks against sets of pairs written out by hand.
#include <heed/heed.hpp>

#include <doctest/doctest.h>

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
