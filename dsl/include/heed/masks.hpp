// SPDX-License-Identifier: MIT
//
// Masks: conditions that are true where a query may attend to a key. Each is an ordinary expression, so masks combine
// with '&&', '||' and '!', and a user's own condition needs no registration.
#pragma once

#include <heed/expression.hpp>

namespace heed {

/// Each query sees keys up to and including its own position.
inline constexpr auto causal = q_pos >= kv_pos;

/// Each query sees the `width` most recent keys, itself included. Says nothing about later keys: combine with `causal`.
template <Operand Width>
constexpr auto sliding_window(Width width) {
    return q_pos - kv_pos < width;
}

/// The first `count` keys of the sequence. Often called attention sinks (Xiao et al. 2023, section 3), but see
/// `sink_logit`.
template <Operand Count>
constexpr auto first_tokens(Count count) {
    return kv_pos < count;
}

/// The first `kv_len[batch]` keys of each batch element, for sequences of different lengths in one tensor.
inline constexpr auto padded = kv_pos < input<"kv_len", i32>[batch];

}  // namespace heed
