// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <type_traits>

namespace heed {

/// Position of an input among the distinct inputs of a variant: its number in the kernel table and in argument lists.
template <class Variant, class Input>
constexpr int input_number() {
    const auto &inputs = Variant::inputs;
    return static_cast<int>(
        std::find_if(inputs.begin(), inputs.end(), [](const auto &input) { return input.name == Input::name(); }) -
        inputs.begin());
}

}  // namespace heed
