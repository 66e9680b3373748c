// SPDX-License-Identifier: MIT
// expect: wrong
static_assert(false, "wrong");
