// SPDX-License-Identifier: MIT
//
// A variant of one's own, in a few lines.
#pragma once

#include <heed/heed.hpp>

namespace models {
using namespace heed;

// 16 query heads share 4 key/value heads. A query sees the 128 most recent keys and the first four of the sequence;
// scores are capped at 30, and a learned logit per head joins the softmax's denominator.
inline constexpr auto local_capped = variant(
    heads = 16_c, groups = 4_c, head_dim = 64_c,
    mask       = causal && (sliding_window(128_c) || first_tokens(4_c)),
    score_mod  = softcap(score, 30.0),
    sink_logit = input<"sinks">[head]);

static_assert(attends(local_capped, {.q = 500, .kv = 400}));   // the compiler tests masks
static_assert(attends(local_capped, {.q = 500, .kv = 3}));
static_assert(!attends(local_capped, {.q = 500, .kv = 300}));

}  // namespace models
