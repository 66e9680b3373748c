// SPDX-License-Identifier: MIT
// expect: input_is_indexed<input_<
// expect: an input is used without indices
#include <heed/heed.hpp>

using namespace heed;

#ifdef HEED_EXPECT_ERROR
inline constexpr auto bias = input<"shift">;
#else
inline constexpr auto bias = input<"shift">[head];
#endif
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, sink_logit = bias);
