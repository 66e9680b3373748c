// SPDX-License-Identifier: MIT
//
// Views: tensors in memory that somebody else owns. Extents stand outermost first, (batch, heads, length, head_dim), as
// PyTorch prints shapes; strides count elements and may be 0 (broadcast) or negative.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace heed {

/// One number per dimension, made from a list of integers of any type: `{batch, 8, tokens.size(), 64}`.
template <int Rank>
class indices {
  public:
    template <typename... Integer>
    constexpr indices(const Integer &...values) noexcept : values_{static_cast<std::int64_t>(values)...} {
        static_assert((std::is_integral_v<Integer> && ...), "heed::view: extents and strides are integers");
        static_assert(
            sizeof...(Integer) == Rank,
            "heed::view: a view of rank R needs R extents and R strides: R is the argument of heed::indices<R> "
            "in this diagnostic. Fix: give one number per dimension, outermost first.");
    }

    template <typename Integer>
    constexpr indices(const std::array<Integer, static_cast<std::size_t>(Rank)> &values) noexcept : values_{} {
        for (int i = 0; i < Rank; ++i) {
            values_[i] = static_cast<std::int64_t>(values[static_cast<std::size_t>(i)]);
        }
    }

    constexpr std::int64_t operator[](int dimension) const noexcept { return values_[dimension]; }
    constexpr std::int64_t &operator[](int dimension) noexcept { return values_[dimension]; }
    constexpr const std::int64_t *data() const noexcept { return values_; }

  private:
    std::int64_t values_[Rank];
};

namespace detail {

/// Strides of a row-major tensor. A product that does not fit is replaced by the largest number; calls refuse it.
template <int Rank>
constexpr indices<Rank> row_major(indices<Rank> extents) noexcept {
    constexpr std::int64_t largest = INT64_MAX;
    std::int64_t stride = 1;
    for (int i = Rank - 1; i >= 0; --i) {
        const std::int64_t extent = extents[i] < 1 ? 1 : extents[i];
        extents[i] = stride;
        stride = stride > largest / extent ? largest : stride * extent;
    }
    return extents;
}

}  // namespace detail

/// A tensor of `Rank` dimensions. A view made without arguments stands for "not given".
template <typename T, int Rank>
class view {
    static_assert(Rank >= 1, "heed::view: the rank is at least 1. Fix: use heed::scalar<T> for a single number.");

  public:
    constexpr view() noexcept = default;

    /// Row-major: the last dimension is contiguous.
    constexpr view(T *data, indices<Rank> extents) noexcept
        : data_(data), extents_(extents), strides_(detail::row_major(extents)), given_(true) {}

    /// `strides` in elements, any of them 0 or negative.
    constexpr view(T *data, indices<Rank> extents, indices<Rank> strides) noexcept
        : data_(data), extents_(extents), strides_(strides), given_(true) {}

    /// A view of elements that may change is also a view of elements to be read only.
    template <typename U, typename = std::enable_if_t<std::is_same_v<const U, T>>>
    constexpr view(const view<U, Rank> &other) noexcept
        : data_(other.data()), extents_(other.extents()), strides_(other.strides()), given_(other.given()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr const indices<Rank> &extents() const noexcept { return extents_; }
    constexpr const indices<Rank> &strides() const noexcept { return strides_; }
    constexpr bool given() const noexcept { return given_; }

  private:
    T *data_ = nullptr;
    indices<Rank> extents_ = std::array<std::int64_t, static_cast<std::size_t>(Rank)>{};
    indices<Rank> strides_ = std::array<std::int64_t, static_cast<std::size_t>(Rank)>{};
    bool given_ = false;
};

/// A single number, or "not given": the argument for an `input<"name">()` of rank 0.
template <typename T>
class scalar {
  public:
    constexpr scalar() noexcept = default;
    constexpr scalar(T value) noexcept : value_(value), given_(true) {}

    constexpr const T &value() const noexcept { return value_; }
    constexpr bool given() const noexcept { return given_; }

  private:
    T value_ = {};
    bool given_ = false;
};

}  // namespace heed
