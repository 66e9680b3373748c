// SPDX-License-Identifier: MIT
//
// What the headers of the language include before anything else, so that an older standard gives one message instead of
// the errors that follow from it.
#pragma once

// clang-format off
#if __cplusplus < 202002L
#error "heed: declarations of variants need C++20, and this file is compiled for an older standard. Fix: compile it with -std=c++20, in CMake target_compile_features(... cxx_std_20). A program that only calls kernels needs C++17: it includes <target>.hpp, the header that heed_add_kernels(<target> ...) generates, and none of the language's."
#include <heed/there_is_no_such_file>  // a missing file is what compilers stop at
#endif
// clang-format on
