// SPDX-License-Identifier: MIT
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

using namespace heed::tests;

TEST_CASE("a window is the most recent keys, the current one included") {
    for (const lengths &sizes : around_tile_edges(kernels::window.description())) {
        verify(kernels::window, sizes, {.attends = [](const pair &at) { return causal(at) && in_window(at, 20); }});
    }
}
