// SPDX-License-Identifier: MIT
//
// Few queries among many keys. Every test of this folder runs the kernels for few and for many queries on the same
// problems; here are the lengths that matter to the former: those around the chunks that keys are cut into.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"
#include "heed_hook_kernels.hpp"

#include <cmath>
#include <limits>
#include <string>

using namespace heed::tests;

namespace {

const std::vector<lengths> few_queries{{1, 1},   {1, 511}, {1, 512},   {1, 513},  {1, 1030},  {2, 511},   {3, 700},
                                       {5, 512}, {7, 513}, {16, 1500}, {17, 256}, {1, 40, 9}, {4, 520, 3}};

}  // namespace

TEST_CASE("calls with few queries run the kernels for them") {
    const heed::variant_description &variant = kernels::dense.description();
    for (const std::int64_t q_len : {1, 24, 25, 4096}) {
        const heed::kernel_description &kernel =
            heed::choose_kernel(variant, nullptr, "forward", nullptr, q_len, nullptr);
        CHECK(std::string(kernel.schedule) == (q_len <= 24 ? "decode" : "prefill"));
    }
}

TEST_CASE("chunks are merged, whatever part of them keys fill") {
    for (const lengths &sizes : few_queries) {
        verify(kernels::dense, sizes);
        verify(kernels::dim_1, sizes, {.attends = causal});
        verify(kernels::dim_31, sizes);
        verify(kernels::dim_40, sizes, {.attends = causal});
        verify(kernels::dim_96, sizes, {.scale = 0.25});
    }
}

TEST_CASE("masks that leave chunks empty, full and mixed") {
    for (const lengths &sizes : few_queries) {
        verify(kernels::window, sizes, {.attends = [](const pair &at) { return causal(at) && at.q - at.kv < 20; }});
        verify(kernels::window_first, sizes,
               {.attends = [](const pair &at) { return causal(at) && (at.q - at.kv < 20 || at.kv < 3); }});
        verify(kernels::holes, sizes, {.attends = [](const pair &at) { return at.kv % 7 != 3; }});
    }
}

TEST_CASE("a maximum in any chunk, and chunks without a finite score") {
    for (const std::int64_t peak : {0, 511, 512, 600, 899}) {
        problem of(kernels::dense.description(), {2, 900});
        for (std::int64_t head = 0; head < 2; ++head) {
            for (std::int64_t d = 0; d < 8; ++d) of.key(0, head, peak, d) = 40 * of.query(0, head, 1, d);
        }
        verify(kernels::dense, of);
    }
}

TEST_CASE("NaN in a masked value of any chunk is not seen") {
    problem of(kernels::window.description(), {3, 900});
    for (std::int64_t key = 0; key < 870; key += 29) {
        for (std::int64_t d = 0; d < 4; ++d) {
            of.key(0, 0, key, d) = std::nanf("");
            of.value(0, 0, key, d) = std::numeric_limits<float>::infinity();
        }
    }
    verify(kernels::window, of, {.attends = [](const pair &at) { return causal(at) && at.q - at.kv < 20; }});
}
