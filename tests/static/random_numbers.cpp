// SPDX-License-Identifier: MIT
#include "random_expressions.hpp"

namespace heed::tests {

namespace {

struct numbers {
    template <std::uint64_t Seed>
    static constexpr auto from(auto build) {
        if constexpr (Seed % 2 == 0) {
            return random_expressions::whole<random_expressions::mixed(Seed), 3>(build);
        } else {
            return random_expressions::real<random_expressions::mixed(Seed), 3>(build);
        }
    }
};

}  // namespace

std::vector<random_expression> random_numbers() { return random_expressions::make_all<numbers, 3000, 100>(); }

}  // namespace heed::tests
