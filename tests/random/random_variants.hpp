// SPDX-License-Identifier: MIT
//
// Random variants: masks and scores drawn while compiling, as in random_expressions.hpp.
#pragma once

#include <heed/heed.hpp>
#include <random_expressions.hpp>

#include <cstdint>

namespace random_kernels {
using namespace heed;
namespace draws = heed::tests::random_expressions;

/// score / 2 and a bias of at most 3, so that no score is so large that a rounding of it matters.
template <std::uint64_t Seed, class Builder>
constexpr auto random_score(Builder build) {
    const auto bias = build.make(
        draws::tangent, build.make(draws::times, draws::real<draws::of(Seed, 1), 2>(build), build.literal(0.125)));
    return build.make(draws::plus, build.make(draws::times, build.leaf(score), build.literal(0.5)),
                      build.make(draws::times, bias, build.literal(3.0)));
}

template <std::uint64_t Seed, class Builder>
constexpr auto random_mask(Builder build) {
    return draws::condition<draws::mixed(Seed), 3>(build);
}

/// Positions from 0, so that they can be indices.
template <std::uint64_t Seed>
constexpr auto random_variant() {
    return variant(heads = 4_c, groups = 2_c, head_dim = 8_c, align = top_left,
                   mask = random_mask<Seed>(draws::compiled{}), score_mod = random_score<Seed>(draws::compiled{}));
}

/// The first of the seeds.
inline constexpr std::uint64_t first_seed = 9000;

// clang-format off
inline constexpr auto random_00 = random_variant<first_seed + 0>();
inline constexpr auto random_01 = random_variant<first_seed + 1>();
inline constexpr auto random_02 = random_variant<first_seed + 2>();
inline constexpr auto random_03 = random_variant<first_seed + 3>();
inline constexpr auto random_04 = random_variant<first_seed + 4>();
inline constexpr auto random_05 = random_variant<first_seed + 5>();
inline constexpr auto random_06 = random_variant<first_seed + 6>();
inline constexpr auto random_07 = random_variant<first_seed + 7>();
inline constexpr auto random_08 = random_variant<first_seed + 8>();
inline constexpr auto random_09 = random_variant<first_seed + 9>();
inline constexpr auto random_10 = random_variant<first_seed + 10>();
inline constexpr auto random_11 = random_variant<first_seed + 11>();
inline constexpr auto random_12 = random_variant<first_seed + 12>();
inline constexpr auto random_13 = random_variant<first_seed + 13>();
inline constexpr auto random_14 = random_variant<first_seed + 14>();
inline constexpr auto random_15 = random_variant<first_seed + 15>();
inline constexpr auto random_16 = random_variant<first_seed + 16>();
inline constexpr auto random_17 = random_variant<first_seed + 17>();
inline constexpr auto random_18 = random_variant<first_seed + 18>();
inline constexpr auto random_19 = random_variant<first_seed + 19>();
inline constexpr auto random_20 = random_variant<first_seed + 20>();
inline constexpr auto random_21 = random_variant<first_seed + 21>();
inline constexpr auto random_22 = random_variant<first_seed + 22>();
inline constexpr auto random_23 = random_variant<first_seed + 23>();
inline constexpr auto random_24 = random_variant<first_seed + 24>();
inline constexpr auto random_25 = random_variant<first_seed + 25>();
inline constexpr auto random_26 = random_variant<first_seed + 26>();
inline constexpr auto random_27 = random_variant<first_seed + 27>();
inline constexpr auto random_28 = random_variant<first_seed + 28>();
inline constexpr auto random_29 = random_variant<first_seed + 29>();
// clang-format on

}  // namespace random_kernels
