// SPDX-License-Identifier: MIT
//
// Position schemes that turn queries and keys as they are loaded: `position = rope{500'000.0}`. Nothing is stored, so
// caches hold keys as the model made them. A scheme is a pair of ordinary expressions of the row, one for queries and
// one for keys; schemes that change scores instead (ALiBi, relative biases) are words for `score_mod`.
#pragma once

#include <heed/detail/constexpr_math.hpp>
#include <heed/expression.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace heed {

/// Which elements of a row make a pair that turns.
enum class rope_layout : std::uint8_t {
    half_split,  ///< i and i + dims / 2, as in GPT-NeoX, LLaMA in Hugging Face's order, Qwen
    interleaved  ///< 2 i and 2 i + 1, as in the paper, GPT-J, LLaMA in Meta's order
};
inline constexpr rope_layout half_split = rope_layout::half_split;
inline constexpr rope_layout interleaved = rope_layout::interleaved;

/// How frequencies are changed for sequences longer than those of the training. Made by the functions below.
struct rope_scaling {
    enum class method : std::uint8_t { none, linear, ntk, yarn, llama3 };
    method how = method::none;
    double factor = 1;
    double original_length = 0;
    double slow = 0, fast = 0;  ///< where the change ends and begins, in the method's own unit
    double attention_factor = 1;
};

/// Positions divided by `factor` (Chen et al. 2023, "Extending context window ... via positional interpolation").
constexpr rope_scaling linear_scaling(double factor) { return {.how = rope_scaling::method::linear, .factor = factor}; }

/// A larger theta, theta * factor^(dims / (dims - 2)), which leaves the fastest pair as it is ("NTK-aware", bloc97
/// 2023; Peng et al. 2023, section 3.1).
constexpr rope_scaling ntk_scaling(double factor) { return {.how = rope_scaling::method::ntk, .factor = factor}; }

/// YaRN (Peng et al. 2023, sections 3.2 to 3.4): pairs that turn more than `beta_fast` times in `original_length` stay,
/// those that turn less than `beta_slow` times are slowed down by `factor`, with a ramp between; queries and keys are
/// multiplied by 0.1 ln(factor) + 1.
constexpr rope_scaling yarn_scaling(double factor, double original_length, double beta_fast = 32,
                                    double beta_slow = 1) {
    return {.how = rope_scaling::method::yarn,
            .factor = factor,
            .original_length = original_length,
            .slow = beta_slow,
            .fast = beta_fast,
            .attention_factor = factor > 1 ? 0.1 * detail::log_of(factor) + 1 : 1};
}

/// LLaMA 3.1's: wave lengths below original_length / high_frequency stay, those above original_length / low_frequency
/// are stretched by `factor`, with a ramp between (the published reference code, `apply_scaling`).
constexpr rope_scaling llama3_scaling(double factor = 8, double low_frequency = 1, double high_frequency = 4,
                                      double original_length = 8192) {
    return {.how = rope_scaling::method::llama3,
            .factor = factor,
            .original_length = original_length,
            .slow = low_frequency,
            .fast = high_frequency};
}

namespace detail {

/// Radians that pair `pair` of `dims` / 2 turns by for each position.
constexpr double rope_frequency(double theta, std::int64_t pair, std::int64_t dims, const rope_scaling &scaling) {
    using method = rope_scaling::method;
    const double count = static_cast<double>(dims), exponent = -2.0 * static_cast<double>(pair) / count;
    const double plain = exp_of(exponent * log_of(theta));
    switch (scaling.how) {
        case method::none:
            return plain;
        case method::linear:
            return plain / scaling.factor;
        case method::ntk: {
            const double stretched = log_of(theta) + (dims > 2 ? count / (count - 2) * log_of(scaling.factor) : 0.0);
            return exp_of(exponent * stretched);
        }
        case method::yarn: {
            // The pair that turns `turns` times in the original length.
            const auto pair_of = [&](double turns) {
                return count * log_of(scaling.original_length / (turns * 2 * std::numbers::pi)) / (2 * log_of(theta));
            };
            const auto within = [&](double x) { return x < 0 ? 0.0 : x > count - 1 ? count - 1 : x; };
            const double first = within(arithmetic::floor(arithmetic::tag{}, pair_of(scaling.fast)));
            const double last = within(-arithmetic::floor(arithmetic::tag{}, -pair_of(scaling.slow)));
            const double width = last > first ? last - first : 0.001;
            const double ramp = (static_cast<double>(pair) - first) / width;
            const double slowed = ramp < 0 ? 0.0 : ramp > 1 ? 1.0 : ramp;
            return plain / scaling.factor * slowed + plain * (1 - slowed);
        }
        case method::llama3: {
            const double wave = 2 * std::numbers::pi / plain;
            if (wave < scaling.original_length / scaling.fast) return plain;
            if (wave > scaling.original_length / scaling.slow) return plain / scaling.factor;
            const double kept = (scaling.original_length / wave - scaling.slow) / (scaling.fast - scaling.slow);
            return (1 - kept) * plain / scaling.factor + kept * plain;
        }
    }
    return plain;
}

// A row whose pairs (a, b) turn: (a cos - b sin, b cos + a sin). The elements of a pair are `step` apart, and so many
// pairs stand side by side; `cosine` and `sine` are expressions of the pair's number, `dim` there.
template <std::int64_t Pairs, class Row, class Cosine, class Sine>
constexpr auto turned(Row row, std::int64_t dims, std::int64_t step, Cosine cosine, Sine sine) {
    const auto turns = dim < dims;
    const auto is_first = dim / step % 2 == 0;
    const auto pair = select(turns, dim / (2 * step) * step + dim % step, 0);
    const auto partner = select(turns, select(is_first, dim + step, dim - step), dim);
    const auto signed_partner = select(is_first, -row[partner], row[partner]);
    return select(turns, row * tabulate<Pairs>(cosine, pair) + signed_partner * tabulate<Pairs>(sine, pair), row);
}

constexpr std::int64_t pair_step(rope_layout layout, std::int64_t dims) {
    return layout == rope_layout::interleaved ? 1 : dims / 2;
}

}  // namespace detail

/// Rotary position embedding (Su et al. 2021, section 3.2.2): pairs of elements of queries and keys turn by position
/// times theta^(-2 i / dims). `dims` elements from the front turn, all of head_dim by default; it must be even.
struct rope {
    double theta = 10'000;
    rope_layout layout = rope_layout::half_split;
    std::int64_t dims = 0;
    rope_scaling scaling = {};

    /// Does not compile where the numbers cannot be.
    template <std::int64_t HeadDim>
    constexpr void check() const {
        rule::rope_turns_pairs_within_head_dim<HeadDim>(dims == 0 ? HeadDim : dims);
        rule::rope_theta_must_be_positive(theta);
        using method = rope_scaling::method;
        const bool by_length = scaling.how == method::yarn || scaling.how == method::llama3;
        const bool has_ramp = scaling.original_length > 0 && scaling.slow > 0 && scaling.fast > scaling.slow;
        rule::rope_scaling_must_be_positive(scaling.factor > 0 && scaling.factor < 1e300 && (!by_length || has_ramp));
    }

    /// The row of `head_dim` elements at this position.
    template <std::int64_t HeadDim, class Row, class Position>
    constexpr auto apply(Row row, Position position) const {
        constexpr std::int64_t pairs = HeadDim / 2 > 0 ? HeadDim / 2 : 1;
        const std::int64_t turned_dims = dims == 0 ? HeadDim : dims;
        std::array<double, static_cast<std::size_t>(pairs)> turns{};
        for (std::int64_t pair = 0; pair < turned_dims / 2; ++pair) {
            turns[static_cast<std::size_t>(pair)] =
                detail::rope_frequency(theta, pair, turned_dims, scaling) / (2 * std::numbers::pi);
        }
        const detail::constant_element<static_cast<std::size_t>(pairs), dim_> turns_here{{}, turns, dim};
        return detail::turned<pairs>(
            row, turned_dims, detail::pair_step(layout, turned_dims),
            detail::make_node<op::cos_of_turns_>(position, turns_here) * scaling.attention_factor,
            detail::make_node<op::sin_of_turns_>(position, turns_here) * scaling.attention_factor);
    }
};

/// Rotary embedding by angles of one's own, in radians: `angles(position, pair)`, head_dim / 2 pairs.
template <class Input>
struct rope_angles_ {
    rope_layout layout = rope_layout::half_split;

    template <std::int64_t HeadDim>
    constexpr void check() const {
        rule::rope_turns_pairs_within_head_dim<HeadDim>(HeadDim);
    }

    template <std::int64_t HeadDim, class Row, class Position>
    constexpr auto apply(Row row, Position position) const {
        const auto angle = Input{}(position, dim);
        return detail::turned<HeadDim / 2>(row, HeadDim, detail::pair_step(layout, HeadDim), cos(angle), sin(angle));
    }
};

/// `position = rope_angles(input<"angles">)`, where the table has a row for each position.
template <detail::InputWithoutIndices Input>
constexpr auto rope_angles(Input, rope_layout layout = rope_layout::half_split) {
    return rope_angles_<Input>{layout};
}

/// Absolute positions, learned or sinusoidal (Vaswani et al. 2017, section 3.5), are added to tokens before the
/// projections; a variant cannot have them.
struct absolute_positions_ {};
inline constexpr absolute_positions_ learned_positions{};
inline constexpr absolute_positions_ sinusoidal_positions{};

namespace detail {

/// What `position` takes.
template <class T>
concept PositionScheme = requires(const T &scheme) {
    scheme.template apply<2>(query, q_pos);
};

}  // namespace detail
}  // namespace heed
