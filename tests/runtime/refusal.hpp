// SPDX-License-Identifier: MIT
//
// What a call that must be refused says.
#pragma once

#include <heed/error.hpp>

#include <string>

template <typename Function>
std::string refusal(const Function &function) {
    try {
        function();
    } catch (const heed::invalid_argument_error &error) {
        return error.what();
    }
    return "nothing was refused";
}
