// SPDX-License-Identifier: MIT
// expect: wrong
#ifdef HEED_EXPECT_ERROR
static_assert(false, "wrong");
static_assert(false, "wrong as well");
#endif
