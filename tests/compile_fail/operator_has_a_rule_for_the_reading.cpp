// SPDX-License-Identifier: MIT
// expect: operator_has_a_rule_for_the_reading<square, value, false>
// expect: an operator has no rule for this reading
#include <heed/heed.hpp>

using namespace heed;

struct square : op::on_numbers {
#ifdef HEED_EXPECT_ERROR

#else
    static constexpr auto value(const auto &a) { return a * a; }
#endif
};
inline constexpr auto nine = evaluate(detail::make_node<square>(3_c), environment_of({}));
