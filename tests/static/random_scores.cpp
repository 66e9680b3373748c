// SPDX-License-Identifier: MIT
#include "random_expressions.hpp"

namespace heed::tests {

namespace {

struct scores {
    template <std::uint64_t Seed>
    static constexpr auto from(auto build) {
        return random_expressions::score_expression<random_expressions::mixed(Seed), 3>(build);
    }
};

}  // namespace

std::vector<random_expression> random_scores() { return random_expressions::make_all<scores, 4000, 120, false>(); }

}  // namespace heed::tests
