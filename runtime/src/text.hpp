// SPDX-License-Identifier: MIT
//
// Text of messages: pieces and numbers written one after the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heed::detail {

inline void append(std::string &text, std::string_view piece) { text += piece; }
inline void append(std::string &text, std::int64_t number) { text += std::to_string(number); }

template <typename... Piece>
std::string text(const Piece &...pieces) {
    std::string result;
    (append(result, pieces), ...);
    return result;
}

}  // namespace heed::detail
