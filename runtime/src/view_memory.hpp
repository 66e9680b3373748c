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

/// Whether two tensors of the same extents, with elements, share memory for certain other than element for element:
/// both start at the same place with different strides, or both fill the memory that they span and the two overlap.
/// Tensors that are interleaved in one buffer do not.
template <int Rank>
bool overlap_otherwise_than_in_place(const view<float, Rank> &written, const view<const float, Rank> &read) {
    bool same_strides = true;
    std::int64_t elements = 1;
    offset_range of_written, of_read;
    for (int i = 0; i < Rank; ++i) {
        const std::int64_t extent = written.extents()[i];
        same_strides = same_strides && (extent <= 1 || written.strides()[i] == read.strides()[i]);
        elements *= extent;
        extend(of_written, {extent, written.strides()[i]});
        extend(of_read, {extent, read.strides()[i]});
    }
    if (written.data() == read.data()) {
        return !same_strides;
    }
    const auto fills = [&](const offset_range &range) { return range.highest - range.lowest + 1 == elements; };
    return fills(of_written) && fills(of_read) && written.data() + of_written.lowest <= read.data() + of_read.highest &&
           read.data() + of_read.lowest <= written.data() + of_written.highest;
}

/// Whether two tensors share memory for certain, whatever their ranks are.
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

}  // namespace heed::detail
