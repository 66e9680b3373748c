// SPDX-License-Identifier: MIT
// expect: input_is_indexed<input_<
// expect: an input is used without indices
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + input<"shift">;
#else
inline constexpr auto s = score + input<"shift">();
#endif
