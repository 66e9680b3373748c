// SPDX-License-Identifier: MIT
//
// Variants under test whose caches hold other types than f32. They have a name of their own, as the headers of two
// kernel libraries cannot share one.
#pragma once

#include "cached_variants.hpp"

namespace typed_kernels {

inline constexpr auto in_cache = kernels::in_cache;
inline constexpr auto in_cache_changed = kernels::in_cache_changed;

}  // namespace typed_kernels
