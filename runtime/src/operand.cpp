// SPDX-License-Identifier: MIT

#include "operand.hpp"

#include <algorithm>

#include "device_limits.hpp"
#include "kernel_arguments.hpp"

namespace heed::detail {
namespace {

int axes_left_out(part part) noexcept { return part == part::everything ? 0 : part == part::one_batch ? 1 : 2; }

}  // namespace

operand::operand(const char *name, data_type type, use use, device_kind device) noexcept
    : name_(name), use_(use), device_(device), element_bytes_(bytes_of(type)) {
    describe(buffer_, type, dimensions_, 0, device != device_kind::cpu);
}

/// head_dim or value_dim: kernels insist on its stride, also where there is one element only.
void operand::add_innermost_axis(std::int64_t extent) noexcept { axes_[buffer_.dimensions++] = {extent, 1}; }

void operand::add_axis(std::int64_t extent, std::int64_t stride) noexcept {
    axes_[buffer_.dimensions++] = {extent, extent > 1 ? stride : 0};
}

void operand::split_heads(const tensor_shape &shape, std::int64_t groups) noexcept {
    const auto &[batch, heads, rows, dim] = shape.axes;
    const std::int64_t heads_in_group = heads.extent / groups;
    if (shape.rank == 4) {
        add_innermost_axis(dim.extent);
    }
    add_axis(heads_in_group, heads.stride);
    add_axis(rows.extent, rows.stride);
    add_axis(groups, heads.stride * heads_in_group);
    add_axis(batch.extent, batch.stride);
    data_ = shape.data;
}

void operand::keep_groups(const tensor_shape &shape, char *zeros) noexcept {
    const auto &[batch, groups, keys, dim] = shape.axes;
    const bool empty = keys.extent == 0;
    add_innermost_axis(dim.extent);
    add_axis(empty ? 1 : keys.extent, keys.stride);
    add_axis(groups.extent, empty ? 0 : groups.stride);
    add_axis(batch.extent, empty ? 0 : batch.stride);
    data_ = empty ? zeros : shape.data;
}

std::int64_t operand::elements(part part) const noexcept {
    std::int64_t count = 1;
    for (int i = 0; i < buffer_.dimensions - axes_left_out(part); ++i) {
        count *= axes_[i].extent;
    }
    return count;
}

bool operand::fits(part part) const noexcept {
    if (device_ != device_kind::cpu) {
        return elements(part) <= limits_of(device_).elements && (!on_device_ || span_fits(part));
    }
    return fits_halide(axes_, buffer_.dimensions - axes_left_out(part));
}

bool operand::span_fits(part part) const noexcept {
    const std::int64_t limit = limits_of(device_).elements;
    std::int64_t last = 0;
    for (int i = 0; i < buffer_.dimensions - axes_left_out(part); ++i) {
        if (axes_[i].extent > 1 && axes_[i].stride > limit / axes_[i].extent) {
            return false;
        }
        last += (std::max<std::int64_t>(axes_[i].extent, 1) - 1) * axes_[i].stride;
    }
    return last <= limit;
}

bool operand::can_be_used_in_place() const noexcept {
    return std::all_of(axes_, axes_ + buffer_.dimensions, [](const axis &axis) { return axis.stride >= 0; }) &&
           can_be_read_in_fours(1);
}

bool operand::lies_compact(part part) const {
    const int rank = buffer_.dimensions - axes_left_out(part);
    return is_compact(axes_, rank) && can_be_read_in_fours(rank);
}

/// Whether all fours begin at multiples of four, as far as kernels count on it; those without gaps within the first
/// `rank` axes do where the first does.
bool operand::can_be_read_in_fours(int rank) const noexcept {
    if (use_ != use::read_in_fours || axes_[0].extent % 4 != 0) {
        return true;
    }
    const bool is_multiple =
        !is_address_ || reinterpret_cast<std::uintptr_t>(data_) % static_cast<unsigned>(4 * element_bytes_) == 0;
    return is_multiple && std::all_of(axes_ + rank, axes_ + buffer_.dimensions,
                                      [](const axis &outer) { return outer.stride % 4 == 0; });
}

void operand::use_scratch(part part) {
    in_scratch_ = true;
    data_ = reinterpret_cast<char *>(scratch_.allocate(static_cast<std::size_t>(elements(part))));
    make_dense(axes_, buffer_.dimensions);
    for (int i = 0; i < axes_left_out(part); ++i) {
        axes_[buffer_.dimensions - 1 - i].stride = 0;
    }
}

void operand::use_copies(part part) {
    copy_rank_ = buffer_.dimensions - axes_left_out(part);
    std::copy(axes_, axes_ + copy_rank_, dense_axes_);
    copy_ = reinterpret_cast<char *>(scratch_.allocate(static_cast<std::size_t>(make_dense(dense_axes_, copy_rank_))));
}

void operand::begin(part part, std::int64_t batch, std::int64_t group) {
    for (int i = 0; i < buffer_.dimensions; ++i) {
        dimensions_[i] = halide_dimension(i < copy_rank_ ? dense_axes_[i] : axes_[i]);
    }
    const int batch_axis = group_rank() + 1, group_axis = group_rank();
    place_ = data_;
    if (part != part::everything) {
        dimensions_[batch_axis] = {static_cast<std::int32_t>(batch), 1, 0};
        place_ += batch * axes_[batch_axis].stride * element_bytes_;
    }
    if (part == part::one_group) {
        dimensions_[group_axis] = {static_cast<std::int32_t>(group), 1, 0};
        place_ += group * axes_[group_axis].stride * element_bytes_;
    }
    if (copy_ != nullptr && !is_written()) {
        copy_elements(copy_, dense_axes_, place_, axes_, copy_rank_, element_bytes_);
    }
    buffer_.host = reinterpret_cast<std::uint8_t *>(copy_ != nullptr ? copy_ : place_);
}

void operand::end() {
    if (copy_ != nullptr && is_written()) {
        copy_elements(place_, axes_, copy_, dense_axes_, copy_rank_, element_bytes_);
    }
}

}  // namespace heed::detail
