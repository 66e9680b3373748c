// SPDX-License-Identifier: MIT
//
// A tensor of a call as the kernel sees it, whole or part by part: one Halide buffer that moves over the caller's
// memory, or over a dense copy where the kernel cannot take that as it lies.
#pragma once

#include <HalideRuntime.h>

#include <cstdint>

#include <heed/kernel_table.hpp>

#include "scratch.hpp"
#include "tensor_shape.hpp"

namespace heed::detail {

/// What one run of the kernel covers.
enum class part { everything, one_batch, one_group };

/// What kernels do with an operand. Those of devices read rows of a multiple of four elements in fours, where keys and
/// values are concerned: generators/src/algorithm_gpu.cpp.
enum class use { read, read_in_fours, written };

/// query, key, value, output or log_sum_exp. The last two axes are group and batch; those before them make up what
/// belongs to one group.
class operand {
  public:
    operand(const char *name, data_type type, use use, device_kind device) noexcept;
    operand(const operand &) = delete;
    operand &operator=(const operand &) = delete;

    /// Adds the axes of (batch, heads, rows[, dim]), heads split into (head in group, group).
    void split_heads(const tensor_shape &shape, std::int64_t groups) noexcept;
    /// Adds the axes of (batch, groups, keys, dim). Without keys the kernel gets one that it never reads: `zeros`.
    void keep_groups(const tensor_shape &shape, char *zeros) noexcept;

    /// The data lie in memory of a device, which kernels read and write as they lie: at an address or behind a handle.
    void set_on_device(bool is_address) noexcept {
        on_device_ = data_ != nullptr;
        is_address_ = is_address;
    }
    bool is_on_device() const noexcept { return on_device_; }
    char *place() const noexcept { return place_; }
    bool has_data() const noexcept { return data_ != nullptr; }
    bool is_asked_for() const noexcept { return !in_scratch_; }
    bool is_written() const noexcept { return use_ == use::written; }
    bool is_read_in_fours() const noexcept { return use_ == use::read_in_fours; }
    const char *name() const noexcept { return name_; }
    halide_buffer_t *buffer() noexcept { return &buffer_; }

    std::int64_t elements(part part) const noexcept;
    /// Whether kernels can count the elements of a part, and its offsets where they use the memory as it is.
    bool fits(part part) const noexcept;
    /// In memory of a device.
    bool can_be_used_in_place() const noexcept;
    /// Whether a part may be copied to a device and back as it lies in memory.
    bool lies_compact(part part) const;

    /// Backs a result that nobody asked for; parts that run one after the other share the memory.
    void use_scratch(part part);
    /// Makes each part pass through dense memory, for strides within it that Halide cannot count or a device copy.
    void use_copies(part part);

    /// Points the buffer at what belongs to the part that starts at `batch` and `group`.
    void begin(part part, std::int64_t batch, std::int64_t group);
    /// After its run.
    void end();

  private:
    int group_rank() const noexcept { return buffer_.dimensions - 2; }
    void add_innermost_axis(std::int64_t extent) noexcept;
    void add_axis(std::int64_t extent, std::int64_t stride) noexcept;
    bool span_fits(part part) const noexcept;
    bool can_be_read_in_fours(int rank) const noexcept;

    const char *name_;
    use use_;
    bool on_device_ = false, is_address_ = true, in_scratch_ = false;
    device_kind device_;
    int element_bytes_;
    char *data_ = nullptr;
    axis axes_[5];
    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[5];
    char *place_ = nullptr;
    char *copy_ = nullptr;
    int copy_rank_ = 0;
    axis dense_axes_[5];
    scratch_block scratch_;
};

}  // namespace heed::detail
