// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace model_files {

/// Something that the user gave (a file, an option, a sentence) cannot be used. The text names it and says why.
struct input_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

}  // namespace model_files
