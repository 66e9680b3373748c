// SPDX-License-Identifier: MIT
#ifdef HEED_EXPECT_ERROR
static_assert(false, "wrong");
#endif
