// SPDX-License-Identifier: MIT
// expect: key_is_known<bias_scale_, false>
// expect: unknown key
// expect: value_mod, output_mod, weights, weight_factor, sink_logit, align, query_start. Fix: use one of these
#include <heed/heed.hpp>

using namespace heed;

struct bias_scale_ : variant_key<bias_scale_> {
    using variant_key::operator=;
};
inline constexpr bias_scale_ bias_scale{};

#ifdef HEED_EXPECT_ERROR
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, bias_scale = 0.1);
#else
inline constexpr auto v = variant(heads = 8_c, head_dim = 64_c, scale = 0.1);
#endif
