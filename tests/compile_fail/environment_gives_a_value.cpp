// SPDX-License-Identifier: MIT
// expect: environment_gives_a_value<positions, head_, false>
// expect: an environment has no value for a terminal
#include <heed/heed.hpp>

using namespace heed;

struct positions : value_reading {
    constexpr std::int64_t operator()(q_pos_) const { return 0; }
    static constexpr auto constant(auto value) { return value; }
};
#ifdef HEED_EXPECT_ERROR
constexpr bool first = evaluate(head == q_pos, positions{});
#else
constexpr bool first = evaluate(0_c == q_pos, positions{});
#endif
