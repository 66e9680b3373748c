// SPDX-License-Identifier: MIT
// expect: key_may_use_the_terminal<key_mod_, head_, false>
// expect: keys and values are shared by the heads of a group
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, key_mod = key * input<"gain">(head, dim));
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, key_mod = key * input<"gain">(group, dim));
#endif
