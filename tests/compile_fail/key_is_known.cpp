// SPDX-License-Identifier: MIT
// expect: key_is_known<dropout_, false>
// expect: unknown key
#include <heed/heed.hpp>

using namespace heed;

struct dropout_ : variant_key<dropout_> {
    using variant_key::operator=;
};
inline constexpr dropout_ dropout{};

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, dropout = 0.1);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = 0.1);
#endif
