// SPDX-License-Identifier: MIT
//
// What kernels are called with, whatever the call: Halide's buffers, the inputs of the variant, tables made from them.
#pragma once

#include <HalideRuntime.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "call_context.hpp"
#include "scratch.hpp"
#include "tensor_shape.hpp"
#include "text.hpp"

namespace heed::detail {

inline constexpr std::int64_t halide_limit = INT32_MAX;

/// A call has more of something than a kernel counts. Kernels of another device may count further.
class does_not_fit_error : public invalid_argument_error {
  public:
    using invalid_argument_error::invalid_argument_error;
};

/// Whether Halide's 32-bit arithmetic can address every element.
inline bool fits_halide(const axis *axes, int rank) noexcept {
    offset_range range;
    std::int64_t elements = 1;
    for (int i = 0; i < rank; ++i) {
        extend(range, {std::max<std::int64_t>(axes[i].extent, 1), axes[i].stride});
        if (range.too_large || __builtin_mul_overflow(elements, axes[i].extent, &elements) || elements > halide_limit ||
            std::abs(axes[i].stride) > halide_limit || axes[i].extent * std::abs(axes[i].stride) > halide_limit) {
            return false;
        }
    }
    return range.highest - range.lowest <= halide_limit;
}

/// Copies a tensor between two places; axes innermost first. Rows without gaps are copied as a whole.
inline void copy_elements(char *to, const axis *to_axes, const char *from, const axis *from_axes, int rank, int bytes) {
    const bool is_row = rank == 1 && to_axes[0].stride == 1 && from_axes[0].stride == 1;
    if (rank == 0 || is_row) {
        std::memcpy(to, from, static_cast<std::size_t>(is_row ? to_axes[0].extent * bytes : bytes));
        return;
    }
    const int last = rank - 1;
    for (std::int64_t i = 0; i < to_axes[last].extent; ++i) {
        copy_elements(to + i * to_axes[last].stride * bytes, to_axes, from + i * from_axes[last].stride * bytes,
                      from_axes, last, bytes);
    }
}

/// Sets the strides of a dense tensor, axes innermost first, and returns the number of elements.
inline std::int64_t make_dense(axis *axes, int rank) noexcept {
    std::int64_t stride = 1;
    for (int i = 0; i < rank; ++i) {
        axes[i].stride = stride;
        stride *= axes[i].extent;
    }
    return stride;
}

inline halide_type_t halide_type(data_type type) noexcept {
    const halide_type_code_t code = type == data_type::i32 || type == data_type::i8 ? halide_type_int
                                    : type == data_type::bf16                       ? halide_type_bfloat
                                                                                    : halide_type_float;
    return {code, static_cast<std::uint8_t>(8 * bytes_of(type))};
}

/// Kernels of devices take elements of two bytes as their bits.
inline halide_type_t halide_type(data_type type, bool as_bits) noexcept {
    return as_bits && bytes_of(type) == 2 ? halide_type_t{halide_type_uint, 16} : halide_type(type);
}

inline void describe(halide_buffer_t &buffer, data_type type, halide_dimension_t *dimensions, int rank,
                     bool as_bits = false) noexcept {
    buffer.type = halide_type(type, as_bits);
    buffer.dimensions = rank;
    buffer.dim = dimensions;
}

inline halide_dimension_t halide_dimension(const axis &axis) noexcept {
    return {0, static_cast<std::int32_t>(axis.extent), static_cast<std::int32_t>(axis.stride)};
}

/// Whether the elements fill their memory without a gap and none lies before the first: so much can be copied to a
/// device and back without touching anything else.
inline bool is_compact(const axis *axes, int rank) {
    std::vector<axis> sorted;
    for (int i = 0; i < rank; ++i) {
        if (axes[i].extent == 0) {
            return true;
        }
        if (axes[i].extent > 1) {
            sorted.push_back(axes[i]);
        }
    }
    std::sort(sorted.begin(), sorted.end(), [](const axis &a, const axis &b) { return a.stride < b.stride; });
    std::int64_t next = 1;
    for (const axis &axis : sorted) {
        if (axis.stride != next) {
            return false;
        }
        next *= axis.extent;
    }
    return true;
}

/// The inputs of the variant as the kernel sees them.
class input_list {
  public:
    input_list(const variant_description &variant, const tensor *inputs, bool no_keys, bool for_device = false)
        : for_device_(for_device),
          buffers_(static_cast<std::size_t>(variant.input_count)),
          scratch_(static_cast<std::size_t>(variant.input_count)) {
        std::size_t rank_sum = 0;
        for (int i = 0; i < variant.input_count; ++i) {
            rank_sum += static_cast<std::size_t>(variant.inputs[i].rank);
        }
        dimensions_.reserve(rank_sum);
        for (int i = 0; i < variant.input_count; ++i) {
            add(variant, i, inputs[i], no_keys);
        }
    }

    void *argument(int i, const tensor &input) noexcept {
        return input.rank == 0 ? const_cast<void *>(input.data)
                               : static_cast<void *>(&buffers_[static_cast<std::size_t>(i)]);
    }

  private:
    void add(const variant_description &variant, int number, const tensor &input, bool no_keys) {
        std::vector<axis> axes(static_cast<std::size_t>(input.rank));
        bool empty = false;
        for (int i = 0; i < input.rank; ++i) {
            const std::int64_t extent = extent_of(input, input.rank - 1 - i);
            axes[static_cast<std::size_t>(i)] = {extent, extent > 1 ? stride_of(input, input.rank - 1 - i) : 0};
            empty = empty || extent == 0;
        }
        char *data = static_cast<char *>(const_cast<void *>(input.data));
        if (empty && no_keys) {
            // Tables that are indexed by keys are empty too. Kernels clamp such indices and never use the element.
            for (axis &axis : axes) {
                axis = {std::max<std::int64_t>(axis.extent, 1), 0};
            }
            data = placeholder();
        } else if (!fits_halide(axes.data(), input.rank) || (for_device_ && !is_compact(axes.data(), input.rank))) {
            data = copy(variant, number, axes, data);
        } else if (data == nullptr) {
            data = placeholder();  // Halide takes a null pointer for a question about sizes
        }
        halide_buffer_t &buffer = buffers_[static_cast<std::size_t>(number)];
        describe(buffer, input.type, dimensions_.data() + dimensions_.size(), input.rank);
        buffer.host = reinterpret_cast<std::uint8_t *>(data);
        for (const axis &axis : axes) {
            dimensions_.push_back(halide_dimension(axis));
        }
    }

    /// One element that is there for its address.
    static char *placeholder() noexcept {
        static float zero = 0;
        return reinterpret_cast<char *>(&zero);
    }

    char *copy(const variant_description &variant, int number, std::vector<axis> &axes, const char *data) {
        const int rank = static_cast<int>(axes.size());
        std::int64_t elements = 1;
        for (const axis &axis : axes) {
            if (__builtin_mul_overflow(elements, axis.extent, &elements) || elements > halide_limit) {
                throw does_not_fit_error(text(variant.name, ": input '", variant.inputs[number].name,
                                              "' has more than ", halide_limit,
                                              " elements, kernels count them in 32 bits. Fix: call the kernel for "
                                              "fewer batches at a time"));
            }
        }
        const std::vector<axis> from = axes;
        make_dense(axes.data(), rank);
        char *dense = reinterpret_cast<char *>(
            scratch_[static_cast<std::size_t>(number)].allocate(static_cast<std::size_t>(elements)));
        copy_elements(dense, axes.data(), data, from.data(), rank, bytes_of(variant.inputs[number].type));
        return dense;
    }

    bool for_device_;
    std::vector<halide_buffer_t> buffers_;
    std::vector<halide_dimension_t> dimensions_;
    std::vector<scratch_block> scratch_;
};

/// The tables that a kernel wants made from the inputs: for `sizes.batch` elements of the batch, from `first_batch` on.
class table_list {
  public:
    table_list(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes,
               std::int64_t first_batch = 0)
        : tables_(static_cast<std::size_t>(kernel.table_count)) {
        const std::int64_t positions = kernel.query_tile / kernel.heads_per_tile;
        for (int i = 0; i < kernel.table_count; ++i) {
            const tile_table_description &description = kernel.tables[i];
            const std::int64_t length = description.by_key ? sizes.kv_len : sizes.q_len;
            const std::int64_t tile = description.by_key ? kernel.key_tile : positions;
            axis axes[5] = {{2, 0},
                            {std::max<std::int64_t>((length + tile - 1) / tile, 1), 0},
                            {variant.heads / variant.groups / kernel.heads_per_tile, 0},
                            {variant.groups, 0},
                            {sizes.batch, 0}};
            const std::int64_t elements = make_dense(axes, 5);
            if (elements > halide_limit) {
                throw does_not_fit_error(text(variant.name, ": a batch of ", sizes.batch, " needs tables of ", elements,
                                              " elements, kernels count at most ", halide_limit,
                                              ". Fix: call the kernel for fewer batches at a time"));
            }
            table &made = tables_[static_cast<std::size_t>(i)];
            describe(made.buffer, description.type, made.dimensions, 5);
            std::transform(std::begin(axes), std::end(axes), made.dimensions, halide_dimension);
            made.dimensions[4].min = static_cast<std::int32_t>(first_batch);
            made.buffer.host =
                reinterpret_cast<std::uint8_t *>(made.block.allocate(static_cast<std::size_t>(elements)));
        }
    }

    void append_to(std::vector<void *> &arguments) noexcept {
        for (table &each : tables_) arguments.push_back(&each.buffer);
    }

    /// Once they are made. Kernels read no tile that there is not, but Halide's check before a kernel runs bounds what
    /// it reads without the conditions on it. Checks that the kernel can see, on the other hand, cost a mask by
    /// documents half of its speed.
    void pass_any_check() noexcept {
        for (table &each : tables_) each.dimensions[1].extent = 1 << 28;
    }

  private:
    struct table {
        halide_buffer_t buffer = {};
        halide_dimension_t dimensions[5];
        scratch_block block;
    };
    std::vector<table> tables_;
};

/// Of a kernel that returned `result` or reported an error.
[[noreturn]] inline void report(const variant_description &variant, const kernel_description &kernel,
                                const call_context &context, int result) {
    if (context.out_of_memory) {
        throw out_of_memory_error(text(variant.name, ": no memory for ",
                                       static_cast<std::int64_t>(context.refused_bytes),
                                       " bytes of scratch space in kernel ", kernel.name));
    }
    const auto says = [&](const char *words) { return context.error_text.find(words) != std::string::npos; };
    if (kernel.device != device_kind::cpu &&
        (says("OUT_OF_MEMORY") || says("ALLOCATION_FAILURE") || says("OUT_OF_HOST_MEMORY") ||
         says("OUT_OF_RESOURCES") || says("INVALID_BUFFER_SIZE"))) {
        throw out_of_memory_error(text(variant.name, ": the device of kernel ", kernel.name, " has too little memory: ",
                                       context.error_text, ". Fix: call the kernel for fewer batches at a time"));
    }
    throw kernel_error(text(variant.name, ": kernel ", kernel.name, " failed: ",
                            context.error_text.empty() ? text("it returned ", result) : context.error_text));
}

}  // namespace heed::detail
