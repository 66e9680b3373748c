// SPDX-License-Identifier: MIT
//
// The attention of SmolLM2-135M (a LLaMA). Its window comes with the call: without one, the program passes the longest
// text that the model knows, and a window that hides nothing costs nothing. The first four tokens stay visible, because
// heads rest their weight there when they look for nothing (Xiao et al. 2023, "Efficient streaming language models with
// attention sinks").
#pragma once

#include <heed/heed.hpp>

namespace chat {
using namespace heed;

inline constexpr auto smollm2 = variant(heads = 9_c, groups = 3_c, head_dim = 64_c,
                                        mask = causal && (sliding_window(input<"window", i32>()) || first_tokens(4_c)),
                                        position = rope{.theta = 100'000.0});

}  // namespace chat
