// SPDX-License-Identifier: MIT
#include "random_expressions.hpp"

namespace heed::tests {

namespace {

struct masks {
    template <std::uint64_t Seed>
    static constexpr auto from(auto build) {
        return random_expressions::condition<random_expressions::mixed(Seed), 3>(build);
    }
};

}  // namespace

std::vector<random_expression> random_masks() { return random_expressions::make_all<masks, 1000, 120>(); }

}  // namespace heed::tests
