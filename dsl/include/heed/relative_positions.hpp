// SPDX-License-Identifier: MIT
//
// Learned biases of relative positions: terms to be added to a score, `score + t5_bias(t5_causal_bucket(),
// input<"relative_bias">)`. Tables have one column for each head and are stored as published weights are: (entry,
// head).
//
// Entries are found with whole numbers only, so that every reading and every machine agrees on them.
#pragma once

#include <heed/expression.hpp>
#include <heed/masks.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace heed {

namespace detail {

/// A natural number with as many digits as a product needs.
template <std::size_t Digits>
struct natural {
    std::array<std::uint32_t, Digits> digits{1};  // least significant first

    constexpr natural &multiply(std::int64_t factor, std::int64_t times) {
        for (; times > 0; --times) {
            std::uint64_t carry = 0;
            for (std::uint32_t &digit : digits) {
                carry += digit * static_cast<std::uint64_t>(factor);
                digit = static_cast<std::uint32_t>(carry);
                carry >>= 32;
            }
        }
        return *this;
    }

    friend constexpr bool operator>=(const natural &a, const natural &b) {
        for (std::size_t i = Digits; i-- > 0;) {
            if (a.digits[i] != b.digits[i]) {
                return a.digits[i] > b.digits[i];
            }
        }
        return true;
    }
};

/// The smallest distance n with log(n / exact) / log(max_distance / exact) * logarithmic >= step, found as
/// n^logarithmic
/// >= max_distance^step * exact^(logarithmic - step).
template <std::int64_t Exact, std::int64_t Logarithmic, std::int64_t MaxDistance>
constexpr std::int64_t first_distance(std::int64_t step) {
    constexpr auto bits = static_cast<std::size_t>(Logarithmic) * std::bit_width(std::uint64_t{MaxDistance});
    using number = natural<bits / 32 + 1>;
    const number bound = number{}.multiply(MaxDistance, step).multiply(Exact, Logarithmic - step);
    std::int64_t low = Exact, high = MaxDistance;
    while (low < high) {
        const std::int64_t middle = low + (high - low) / 2;
        if (number{}.multiply(middle, Logarithmic) >= bound) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

// How many of the steps First ... Last a distance has passed. Halved, because a chain of sums is a type of quadratic
// length, which compilers carry about.
template <std::int64_t Exact, std::int64_t Logarithmic, std::int64_t MaxDistance, std::int64_t First, std::int64_t Last,
          class Distance>
constexpr auto steps_passed(const Distance &distance) {
    if constexpr (First > Last) {
        return 0_c;
    } else if constexpr (First == Last) {
        return select(distance >= int_<first_distance<Exact, Logarithmic, MaxDistance>(First)>{}, 1_c, 0_c);
    } else {
        constexpr std::int64_t middle = (First + Last) / 2;
        return steps_passed<Exact, Logarithmic, MaxDistance, First, middle>(distance) +
               steps_passed<Exact, Logarithmic, MaxDistance, middle + 1, Last>(distance);
    }
}

// Half of the buckets hold one distance each, the others ranges that grow in proportion; the last is open.
template <std::int64_t Buckets, std::int64_t MaxDistance, class Distance>
constexpr auto t5_distance_bucket(const Distance &distance) {
    constexpr std::int64_t exact = Buckets / 2;
    constexpr std::int64_t logarithmic = Buckets - exact;
    return min(distance, int_<exact>{}) + steps_passed<exact, logarithmic, MaxDistance, 1, logarithmic - 1>(distance);
}

template <bool Bidirectional, class Buckets, class MaxDistance>
constexpr bool t5_is_valid() {
    if constexpr (!rule::t5_bucket_takes_constants < Buckets, MaxDistance,
                  is_int<Buckets> && is_int < MaxDistance >> ::check()) {
        return false;
    } else {
        constexpr std::int64_t parts = Bidirectional ? 4 : 2;
        return rule::t5_buckets_can_be_spaced<Buckets::value, MaxDistance::value, parts>::check();
    }
}

}  // namespace detail

/// T5's bucket of the distance to an earlier key, for decoders (Raffel et al. 2020, section 2.1, with the authors'
/// code): half of `buckets` for the distances 0, 1, 2 ..., the others spaced logarithmically up to `max_distance`, from
/// where on all share the last. Later keys share bucket 0.
template <class Buckets = int_<32>, class MaxDistance = int_<128>>
constexpr auto t5_causal_bucket(Buckets /*buckets*/ = {}, MaxDistance /*max_distance*/ = {}) {
    if constexpr (!detail::t5_is_valid<false, Buckets, MaxDistance>()) {
        return 0_c;
    } else {
        return detail::t5_distance_bucket<Buckets::value, MaxDistance::value>(max(q_pos - kv_pos, 0_c));
    }
}

/// T5's bucket of the distance to a key, for encoders: half of `buckets` for earlier keys and the query's own, the
/// other half for later keys, each half spaced as in `t5_causal_bucket`.
template <class Buckets = int_<32>, class MaxDistance = int_<128>>
constexpr auto t5_bidirectional_bucket(Buckets /*buckets*/ = {}, MaxDistance /*max_distance*/ = {}) {
    if constexpr (!detail::t5_is_valid<true, Buckets, MaxDistance>()) {
        return 0_c;
    } else {
        constexpr std::int64_t half = Buckets::value / 2;
        return detail::t5_distance_bucket<half, MaxDistance::value>(abs(q_pos - kv_pos)) +
               select(kv_pos > q_pos, int_<half>{}, 0_c);
    }
}

/// T5's bias, an element of a table of shape (buckets, heads). T5 does not scale its scores: `scale = 1.0`.
template <Expression Bucket, class Table>
constexpr auto t5_bias(Bucket bucket, Table table) {
    if constexpr (!detail::is_table<Table>) {
        return 0.0;
    } else {
        return table(bucket, head);
    }
}

/// kv_pos - q_pos, not beyond +-max_distance, counted from 0 (Shaw et al. 2018, section 3.2). 2 max_distance + 1
/// values.
template <Operand MaxDistance>
constexpr auto clipped_distance(MaxDistance max_distance) {
    return min(max(kv_pos - q_pos, -as_expression(max_distance)), max_distance) + max_distance;
}

/// A learned number for each relative position, the farthest shared, from a table of shape (2 max_distance + 1, heads):
/// Shaw et al. 2018, section 3.2, with one number in place of the key's vector.
template <Operand MaxDistance, class Table>
constexpr auto clipped_bias(MaxDistance max_distance, Table table) {
    if constexpr (!detail::is_table<Table>) {
        return 0.0;
    } else {
        return table(clipped_distance(max_distance), head);
    }
}

/// Swin's bias within a window of height x width tokens, stored row by row, from a table of shape ((2 height - 1) (2
/// width - 1), heads): entry (y_q - y_k + height - 1) (2 width - 1) + x_q - x_k + width - 1, as in the authors' code
/// (Liu et al. 2021, section 3.2, "Relative position bias"). The sequence is the window; for windows of a whole image
/// see `image_bias`.
template <Operand Height, Operand Width, class Table>
constexpr auto swin_bias(Height height, Width width, Table table) {
    detail::sizes_are_positive(height, width);
    if constexpr (!detail::is_table<Table>) {
        return 0.0;
    } else {
        const auto rows = row_of(q_pos, width) - row_of(kv_pos, width) + height - 1_c;
        const auto columns = column_of(q_pos, width) - column_of(kv_pos, width) + width - 1_c;
        return table(rows * (width * 2_c - 1_c) + columns, head);
    }
}

/// The same in an image `image_width` wide, of which each query sees part, as in `windows_2d` or `neighbourhood_2d`:
/// for offsets up to `height_radius` rows and `width_radius` columns, farther pairs read the outermost entry. The table
/// has the shape ((2 height_radius + 1) (2 width_radius + 1), heads); for Swin's windows the radii are one less than
/// the window.
template <Operand ImageWidth, Operand HeightRadius, Operand WidthRadius, class Table>
constexpr auto image_bias(ImageWidth image_width, HeightRadius height_radius, WidthRadius width_radius, Table table) {
    detail::sizes_are_positive(image_width);
    if constexpr (!detail::is_table<Table>) {
        return 0.0;
    } else {
        const auto clip = [](auto offset, auto radius) {
            return min(max(offset, -as_expression(radius)), radius) + radius;
        };
        const auto rows = clip(row_of(q_pos, image_width) - row_of(kv_pos, image_width), height_radius);
        const auto columns = clip(column_of(q_pos, image_width) - column_of(kv_pos, image_width), width_radius);
        return table(rows * (width_radius * 2_c + 1_c) + columns, head);
    }
}

}  // namespace heed
