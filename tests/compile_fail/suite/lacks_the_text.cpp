// SPDX-License-Identifier: MIT
// expect: a text that no compiler prints
#ifdef HEED_EXPECT_ERROR
static_assert(false, "another text");
#endif
