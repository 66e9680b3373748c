// SPDX-License-Identifier: MIT
//
// Tensors with memory of their own and any strides. All memory that is no element, before, between and behind them, is
// poisoned: NaN for real numbers, so that a kernel that reads it gives NaN, and `untouched` tells whether it was
// written.
#pragma once

#include <heed/view.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace heed::tests {

inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
inline constexpr float infinity = std::numeric_limits<float>::infinity();

template <int Rank>
using index_list = std::array<std::int64_t, Rank>;

template <int Rank>
index_list<Rank> row_major(const index_list<Rank> &extents) {
    index_list<Rank> strides{};
    std::int64_t stride = 1;
    for (int d = Rank - 1; d >= 0; --d) {
        strides[d] = stride;
        stride *= extents[d];
    }
    return strides;
}

/// Calls `function(index)` for every element, in row-major order.
template <int Rank, class Function>
void for_each_index(const index_list<Rank> &extents, const Function &function) {
    for (const std::int64_t extent : extents) {
        if (extent == 0) return;
    }
    index_list<Rank> index{};
    for (int d = Rank - 1; d >= 0;) {
        function(index);
        for (d = Rank - 1; d >= 0 && ++index[d] == extents[d]; --d) index[d] = 0;
    }
}

template <class T, int Rank>
class tensor {
    static constexpr std::int64_t margin = 64;

    index_list<Rank> extents_;
    index_list<Rank> strides_;
    std::int64_t first_ = margin;
    std::vector<T> memory_;

    static T poison() {
        if constexpr (std::is_integral_v<T>) {
            return std::numeric_limits<T>::min();
        } else {
            return static_cast<T>(not_a_number);
        }
    }

    std::size_t place(const index_list<Rank> &index) const {
        std::int64_t offset = first_;
        for (int d = 0; d < Rank; ++d) offset += index[d] * strides_[d];
        return static_cast<std::size_t>(offset);
    }

  public:
    explicit tensor(const index_list<Rank> &extents) : tensor(extents, row_major<Rank>(extents)) {}

    tensor(const index_list<Rank> &extents, const index_list<Rank> &strides) : extents_(extents), strides_(strides) {
        std::int64_t last = margin;
        for (int d = 0; d < Rank; ++d) {
            const std::int64_t reach = (extents[d] > 0 ? extents[d] - 1 : 0) * strides[d];
            (reach < 0 ? first_ : last) += reach < 0 ? -reach : reach;
        }
        memory_.assign(static_cast<std::size_t>(first_ + last), poison());
    }

    const index_list<Rank> &extents() const { return extents_; }
    const index_list<Rank> &strides() const { return strides_; }

    T &operator[](const index_list<Rank> &index) { return memory_[place(index)]; }
    const T &operator[](const index_list<Rank> &index) const { return memory_[place(index)]; }

    template <class... Index>
    T &operator()(Index... index) {
        return (*this)[{static_cast<std::int64_t>(index)...}];
    }
    template <class... Index>
    const T &operator()(Index... index) const {
        return (*this)[{static_cast<std::int64_t>(index)...}];
    }

    heed::view<T, Rank> view() { return {memory_.data() + first_, extents_, strides_}; }
    heed::view<const T, Rank> view() const { return {memory_.data() + first_, extents_, strides_}; }

    /// The same values with other strides.
    tensor with_strides(const index_list<Rank> &strides) const {
        tensor copy(extents_, strides);
        for_each_index<Rank>(extents_, [&](const auto &index) { copy[index] = (*this)[index]; });
        return copy;
    }

    /// True if all memory outside of the elements is as it was made.
    bool untouched() const {
        std::vector<T> around = memory_;
        for_each_index<Rank>(extents_, [&](const auto &index) { around[place(index)] = poison(); });
        const std::vector<T> fresh(around.size(), poison());
        return std::memcmp(around.data(), fresh.data(), fresh.size() * sizeof(T)) == 0;
    }
};

/// True if all elements have the same bits.
template <class T, int Rank>
bool same_bits(const tensor<T, Rank> &a, const tensor<T, Rank> &b) {
    bool same = a.extents() == b.extents();
    for_each_index<Rank>(a.extents(),
                         [&](const auto &index) { same = same && std::memcmp(&a[index], &b[index], sizeof(T)) == 0; });
    return same;
}

/// A table written out, for inputs.
template <class T>
tensor<T, 1> table(const std::vector<T> &values) {
    tensor<T, 1> made({static_cast<std::int64_t>(values.size())});
    for (std::size_t i = 0; i < values.size(); ++i) made(i) = values[i];
    return made;
}

}  // namespace heed::tests
