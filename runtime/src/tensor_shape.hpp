// SPDX-License-Identifier: MIT
//
// Shape arithmetic: what memory a strided tensor touches.
#pragma once

#include <cstdint>
#include <cstdlib>

#include <heed/untyped_call.hpp>

namespace heed::detail {

/// Whether tensors there have addresses, which one may calculate with; elsewhere handles stand for them.
constexpr bool has_addresses(device_kind memory) noexcept {
    return memory == device_kind::cpu || memory == device_kind::cuda;
}

/// One dimension. The stride counts elements.
struct axis {
    std::int64_t extent = 1;
    std::int64_t stride = 0;
};

inline std::int64_t extent_of(const tensor &tensor, int dimension) noexcept { return tensor.extents[dimension]; }

inline std::int64_t stride_of(const tensor &tensor, int dimension) noexcept {
    if (tensor.strides != nullptr) {
        return tensor.strides[dimension];
    }
    std::int64_t stride = 1;
    for (int i = tensor.rank - 1; i > dimension; --i) {
        const std::int64_t extent = tensor.extents[i] < 1 ? 1 : tensor.extents[i];
        if (__builtin_mul_overflow(stride, extent, &stride)) {
            return INT64_MAX;
        }
    }
    return stride;
}

/// A tensor of up to four dimensions, outermost first.
struct tensor_shape {
    char *data = nullptr;
    int rank = 0;
    axis axes[4] = {};
};

/// Offsets in elements, first and last inclusive, that the elements of a tensor have from its data pointer.
struct offset_range {
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
    bool too_large = false;  ///< the offsets do not fit an address
};

/// Adds a dimension of at least one element.
inline void extend(offset_range &range, const axis &axis) noexcept {
    constexpr std::int64_t limit = std::int64_t{1} << 59;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(axis.extent - 1, axis.stride, &reach) || reach > limit || reach < -limit) {
        range.too_large = true;
        return;
    }
    (reach < 0 ? range.lowest : range.highest) += reach;
    range.too_large = range.too_large || range.highest > limit || range.lowest < -limit;
}

}  // namespace heed::detail
