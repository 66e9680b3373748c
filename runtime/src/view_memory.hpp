// SPDX-License-Identifier: MIT
//
// What views that are written may share memory with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>

#include <heed/view.hpp>

#include "tensor_shape.hpp"

namespace heed::detail {

/// False if two elements may lie at the same place: every dimension must step over all that the smaller steps reach.
template <typename T, int Rank>
bool elements_are_distinct(const view<T, Rank> &written) {
    axis sorted[Rank];
    for (int i = 0; i < Rank; ++i) {
        sorted[i] = {written.extents()[i], written.extents()[i] > 1 ? std::abs(written.strides()[i]) : 0};
    }
    std::sort(std::begin(sorted), std::end(sorted), [](const axis &a, const axis &b) { return a.stride < b.stride; });
    std::int64_t reach = 0;
    for (const axis &each : sorted) {
        if (each.extent > 1) {
            if (each.stride <= reach) {
                return false;
            }
            reach += (each.extent - 1) * each.stride;
        }
    }
    return true;
}

/// Whether two tensors share memory for certain: both start at the same place, or both fill the memory that they span
/// and the two overlap. Tensors that are interleaved in one buffer do not.
template <typename T, int Rank, typename U, int OtherRank>
bool share_memory(const view<T, Rank> &a, const view<U, OtherRank> &b) {
    struct span {
        const float *first, *last;
        bool is_filled, is_empty;
    };
    const auto span_of = [](const auto &of, int rank) {
        offset_range range;
        std::int64_t elements = 1;
        for (int i = 0; i < rank; ++i) {
            elements *= of.extents()[i];
            extend(range, {std::max<std::int64_t>(of.extents()[i], 1), of.strides()[i]});
        }
        return span{of.data() + range.lowest, of.data() + range.highest, range.highest - range.lowest + 1 == elements,
                    elements == 0};
    };
    const span of_a = span_of(a, Rank), of_b = span_of(b, OtherRank);
    if (of_a.is_empty || of_b.is_empty) {
        return false;
    }
    return a.data() == b.data() ||
           (of_a.is_filled && of_b.is_filled && of_a.first <= of_b.last && of_b.first <= of_a.last);
}

/// Whether two tensors of the same extents do so other than element for element.
template <int Rank>
bool overlap_otherwise_than_in_place(const view<float, Rank> &written, const view<const float, Rank> &read) {
    bool is_in_place = written.data() == read.data();
    for (int i = 0; i < Rank; ++i) {
        is_in_place = is_in_place && (written.extents()[i] <= 1 || written.strides()[i] == read.strides()[i]);
    }
    return !is_in_place && share_memory(written, read);
}

}  // namespace heed::detail
