// SPDX-License-Identifier: MIT
//
// A string that can be a template argument, so that the name of an input is part of its type.
#pragma once

#include <heed/detail/needs_cpp20.hpp>

#include <cstddef>
#include <string_view>

namespace heed {

/// Text of `Size - 1` characters and a terminating zero. Compilers print it inside the type that carries it.
template <std::size_t Size>
struct fixed_string {
    char text[Size]{};

    constexpr fixed_string(const char (&characters)[Size]) {
        for (std::size_t i = 0; i < Size; ++i) {
            text[i] = characters[i];
        }
    }

    constexpr std::string_view view() const { return {text, Size - 1}; }
};

}  // namespace heed
