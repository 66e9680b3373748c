// SPDX-License-Identifier: MIT
// expect: input_type_is_f32_or_i32<double>
// expect: the type of an input must be f32 or i32
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto s = score + input<"bias", double>[head];
#else
inline constexpr auto s = score + input<"bias", f32>[head];
#endif
