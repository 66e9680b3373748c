// SPDX-License-Identifier: MIT
// expect: input_name_is_an_identifier<input_<
// expect: must be a C++ identifier
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + input<"relative bias">[head];
#else
inline constexpr auto s = score + input<"relative_bias">[head];
#endif
