// SPDX-License-Identifier: MIT
// expect: environment_looks_up_inputs<scalar_environment<
// expect: the expression reads an input, but the environment cannot look it up
#include <heed/heed.hpp>

using namespace heed;

inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, mask = padded);
#ifdef HEED_EXPECT_ERROR
constexpr bool sees = attends(v, {.q = 0, .kv = 3, .kv_len = 9});
#else
constexpr bool sees = attends(v, {.q = 0, .kv = 3, .kv_len = 9}, [](auto, auto) { return 4; });
#endif
