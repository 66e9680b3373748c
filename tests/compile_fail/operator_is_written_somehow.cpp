// SPDX-License-Identifier: MIT
// expect: operator_has_a_rule_for_the_reading<square, text, false>
// expect: an operator has no rule for this reading
#include <heed/heed.hpp>
#include <heed/print.hpp>

using namespace heed;

struct square : op::on_numbers {
#ifdef HEED_EXPECT_ERROR

#else
    static constexpr auto name = "square";
#endif
};
const auto text = formula(detail::make_node<square>(3_c));
