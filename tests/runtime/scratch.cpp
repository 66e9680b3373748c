// SPDX-License-Identifier: MIT

#include "scratch.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using heed::detail::allocate_scratch;
using heed::detail::free_scratch;

TEST_CASE("blocks are aligned and may be read around their ends") {
    for (const std::size_t bytes : {0u, 1u, 127u, 128u, 5000u, 1u << 20}) {
        char *block = static_cast<char *>(allocate_scratch(bytes));
        REQUIRE(block != nullptr);
        CHECK(reinterpret_cast<std::uintptr_t>(block) % heed::detail::scratch_alignment == 0);
        std::memset(block, 1, bytes);
        volatile char around = block[-8];
        around = block[bytes + 8];
        (void)around;
        free_scratch(block);
    }
    free_scratch(nullptr);
}

TEST_CASE("a block that comes back is used again") {
    void *first = allocate_scratch(10000);
    free_scratch(first);
    void *second = allocate_scratch(9000);
    CHECK(second == first);
    void *third = allocate_scratch(9000);
    CHECK(third != first);
    free_scratch(second);
    void *small = allocate_scratch(100);  // would waste the block
    CHECK(small != second);
    free_scratch(small);
    free_scratch(third);
}

TEST_CASE("what a thread keeps is limited") {
    std::vector<void *> blocks;
    for (int i = 0; i < 64; ++i) {
        blocks.push_back(allocate_scratch(std::size_t{1} << 20));
        static_cast<char *>(blocks.back())[0] = 1;
    }
    void *large = allocate_scratch(2 * heed::detail::scratch_kept_bytes);
    REQUIRE(large != nullptr);
    for (void *block : blocks) {
        free_scratch(block);
    }
    free_scratch(large);
    CHECK(heed::detail::scratch_kept() <= heed::detail::scratch_kept_bytes);
    CHECK(heed::detail::scratch_kept() >= heed::detail::scratch_kept_bytes / 2);
}

TEST_CASE("blocks may move between threads, a thread that ends leaves none behind") {
    void *block = nullptr;
    std::thread([&block] {
        block = allocate_scratch(1000);
        free_scratch(allocate_scratch(1 << 20));
    }).join();
    std::memset(block, 1, 1000);
    free_scratch(block);
}

TEST_CASE("no memory") {
    CHECK(allocate_scratch(SIZE_MAX) == nullptr);
    CHECK(allocate_scratch(SIZE_MAX / 4) == nullptr);
    heed::detail::scratch_block block;
    CHECK_THROWS_AS(block.allocate(SIZE_MAX / 4), std::bad_alloc);
    CHECK_THROWS_AS(block.allocate(SIZE_MAX / 16), std::bad_alloc);
}
