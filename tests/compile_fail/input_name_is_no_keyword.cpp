// SPDX-License-Identifier: MIT
// expect: input_name_is_an_identifier<input_<
// expect: and no keyword
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + input<"default">[head];
#else
inline constexpr auto s = score + input<"default_bias">[head];
#endif
