// SPDX-License-Identifier: MIT

#include "kernel_call.hpp"

#include <HalideRuntime.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "scratch.hpp"
#include "text.hpp"

namespace heed::detail {
namespace {

constexpr std::int64_t halide_limit = INT32_MAX;

/// Whether Halide's 32-bit arithmetic can address every element.
bool fits_halide(const axis *axes, int rank) noexcept {
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

/// Copies a tensor between two places; axes innermost first.
void copy_elements(char *to, const axis *to_axes, const char *from, const axis *from_axes, int rank, int bytes) {
    if (rank == 0) {
        std::memcpy(to, from, static_cast<std::size_t>(bytes));
        return;
    }
    const int last = rank - 1;
    for (std::int64_t i = 0; i < to_axes[last].extent; ++i) {
        copy_elements(to + i * to_axes[last].stride * bytes, to_axes, from + i * from_axes[last].stride * bytes,
                      from_axes, last, bytes);
    }
}

/// Sets the strides of a dense tensor, axes innermost first, and returns the number of elements.
std::int64_t make_dense(axis *axes, int rank) noexcept {
    std::int64_t stride = 1;
    for (int i = 0; i < rank; ++i) {
        axes[i].stride = stride;
        stride *= axes[i].extent;
    }
    return stride;
}

halide_type_t halide_type(data_type type) noexcept {
    const halide_type_code_t code = type == data_type::i32    ? halide_type_int
                                    : type == data_type::bf16 ? halide_type_bfloat
                                                              : halide_type_float;
    return {code, static_cast<std::uint8_t>(8 * bytes_of(type))};
}

void describe(halide_buffer_t &buffer, data_type type, halide_dimension_t *dimensions, int rank) noexcept {
    buffer.type = halide_type(type);
    buffer.dimensions = rank;
    buffer.dim = dimensions;
}

halide_dimension_t halide_dimension(const axis &axis) noexcept {
    return {0, static_cast<std::int32_t>(axis.extent), static_cast<std::int32_t>(axis.stride)};
}

/// What one run of the kernel covers.
enum class part { everything, one_batch, one_group };

/// query, key, value, output or log_sum_exp as the kernel sees it. The last two axes are group and batch; those before
/// them make up what belongs to one group.
class operand {
  public:
    operand(const char *name, data_type type, bool written)
        : name_(name), written_(written), element_bytes_(bytes_of(type)) {
        describe(buffer_, type, dimensions_, 0);
    }

    /// head_dim or value_dim: kernels insist on its stride, also where there is one element only.
    void add_innermost_axis(std::int64_t extent) noexcept { axes_[buffer_.dimensions++] = {extent, 1}; }

    void add_axis(std::int64_t extent, std::int64_t stride) noexcept {
        axes_[buffer_.dimensions++] = {extent, extent > 1 ? stride : 0};
    }

    void set_data(char *data) noexcept { data_ = data; }
    bool has_data() const noexcept { return data_ != nullptr; }
    const char *name() const noexcept { return name_; }
    halide_buffer_t *buffer() noexcept { return &buffer_; }

    bool fits(part part) const noexcept {
        return fits_halide(axes_, buffer_.dimensions - (part == part::everything  ? 0
                                                        : part == part::one_batch ? 1
                                                                                  : 2));
    }

    std::int64_t elements(part part) const noexcept {
        const int left_out = part == part::everything ? 0 : part == part::one_batch ? 1 : 2;
        std::int64_t count = 1;
        for (int i = 0; i < buffer_.dimensions - left_out; ++i) {
            count *= axes_[i].extent;
        }
        return count;
    }

    /// Backs a result that nobody asked for; parts that run one after the other share the memory.
    void use_scratch(part part) {
        data_ = reinterpret_cast<char *>(scratch_.allocate(static_cast<std::size_t>(elements(part))));
        make_dense(axes_, buffer_.dimensions);
        const int shared = part == part::everything ? 0 : part == part::one_batch ? 1 : 2;
        for (int i = 0; i < shared; ++i) {
            axes_[buffer_.dimensions - 1 - i].stride = 0;
        }
    }

    /// Makes each part pass through dense memory, for strides within a group that Halide cannot count.
    void use_copies() {
        std::copy(axes_, axes_ + group_rank(), dense_axes_);
        copy_ = reinterpret_cast<char *>(
            scratch_.allocate(static_cast<std::size_t>(make_dense(dense_axes_, group_rank()))));
    }

    /// Points the buffer at what belongs to the part that starts at `batch` and `group`.
    void begin(part part, std::int64_t batch, std::int64_t group) {
        for (int i = 0; i < buffer_.dimensions; ++i) {
            dimensions_[i] = halide_dimension(copy_ != nullptr && i < group_rank() ? dense_axes_[i] : axes_[i]);
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
        if (copy_ != nullptr && !written_) {
            copy_elements(copy_, dense_axes_, place_, axes_, group_rank(), element_bytes_);
        }
        buffer_.host = reinterpret_cast<std::uint8_t *>(copy_ != nullptr ? copy_ : place_);
    }

    void end() {
        if (copy_ != nullptr && written_) {
            copy_elements(place_, axes_, copy_, dense_axes_, group_rank(), element_bytes_);
        }
    }

  private:
    int group_rank() const noexcept { return buffer_.dimensions - 2; }

    const char *name_;
    bool written_;
    int element_bytes_;
    char *data_ = nullptr;
    axis axes_[5];
    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[5];
    char *place_ = nullptr;
    char *copy_ = nullptr;
    axis dense_axes_[5];
    scratch_block scratch_;
};

/// Adds the axes of (batch, heads, rows[, dim]), heads split into (head in group, group).
void split_heads(operand &operand, const tensor_shape &shape, std::int64_t groups) noexcept {
    const auto &[batch, heads, rows, dim] = shape.axes;
    const std::int64_t heads_in_group = heads.extent / groups;
    if (shape.rank == 4) {
        operand.add_innermost_axis(dim.extent);
    }
    operand.add_axis(heads_in_group, heads.stride);
    operand.add_axis(rows.extent, rows.stride);
    operand.add_axis(groups, heads.stride * heads_in_group);
    operand.add_axis(batch.extent, batch.stride);
    operand.set_data(shape.data);
}

/// Adds the axes of (batch, groups, keys, dim). Without keys the kernel gets one that it never reads: `zeros`.
void keep_groups(operand &operand, const tensor_shape &shape, char *zeros) noexcept {
    const auto &[batch, groups, keys, dim] = shape.axes;
    const bool empty = keys.extent == 0;
    operand.add_innermost_axis(dim.extent);
    operand.add_axis(empty ? 1 : keys.extent, keys.stride);
    operand.add_axis(groups.extent, empty ? 0 : groups.stride);
    operand.add_axis(batch.extent, empty ? 0 : batch.stride);
    operand.set_data(empty ? zeros : shape.data);
}

/// The inputs of the variant as the kernel sees them.
class input_list {
  public:
    input_list(const variant_description &variant, const tensor *inputs, bool no_keys)
        : buffers_(static_cast<std::size_t>(variant.input_count)),
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
        } else if (!fits_halide(axes.data(), input.rank)) {
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
                throw invalid_argument_error(text(variant.name, ": input '", variant.inputs[number].name,
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

    std::vector<halide_buffer_t> buffers_;
    std::vector<halide_dimension_t> dimensions_;
    std::vector<scratch_block> scratch_;
};

/// The tables that a kernel wants made from the inputs.
class table_list {
  public:
    table_list(const variant_description &variant, const kernel_description &kernel, const call_sizes &sizes)
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
                throw invalid_argument_error(text(variant.name, ": a batch of ", sizes.batch, " needs tables of ",
                                                  elements, " elements, kernels count at most ", halide_limit,
                                                  ". Fix: call the kernel for fewer batches at a time"));
            }
            table &made = tables_[static_cast<std::size_t>(i)];
            describe(made.buffer, description.type, made.dimensions, 5);
            std::transform(std::begin(axes), std::end(axes), made.dimensions, halide_dimension);
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

[[noreturn]] void report(const variant_description &variant, const kernel_description &kernel,
                         const call_context &context, int result) {
    if (context.out_of_memory) {
        throw out_of_memory_error(text(variant.name, ": no memory for ",
                                       static_cast<std::int64_t>(context.refused_bytes),
                                       " bytes of scratch space in kernel ", kernel.name));
    }
    throw kernel_error(text(variant.name, ": kernel ", kernel.name, " failed: ",
                            context.error_text.empty() ? text("it returned ", result) : context.error_text));
}

}  // namespace

void call_kernel(const variant_description &variant, const kernel_description &kernel, const checked_call &call,
                 const tensor *inputs, call_context &context) {
    const bool no_keys = call.sizes.kv_len == 0;
    scratch_block zero_block;
    char *zeros = nullptr;
    if (no_keys) {
        const std::size_t count = static_cast<std::size_t>(std::max(variant.head_dim, variant.value_dim));
        float *const floats = zero_block.allocate(count);
        std::fill(floats, floats + count, 0.0f);
        zeros = reinterpret_cast<char *>(floats);
    }
    const tensor_types &types = kernel.types;
    operand query("query", types.query, false), key("key", types.key, false), value("value", types.value, false);
    operand output("output", types.output, true), log_sum_exp("log_sum_exp", data_type::f32, true);
    split_heads(query, call.query, variant.groups);
    keep_groups(key, call.key, zeros);
    const bool has_value = call.value.rank > 0;
    if (has_value) {
        keep_groups(value, call.value, zeros);
    }
    split_heads(output, call.output, variant.groups);
    tensor_shape log_sum_exp_shape = call.log_sum_exp;
    if (log_sum_exp_shape.rank == 0) {
        log_sum_exp_shape.rank = 3;
        std::copy(call.query.axes, call.query.axes + 3, log_sum_exp_shape.axes);
        for (axis &axis : log_sum_exp_shape.axes) {
            axis.stride = 0;
        }
    }
    split_heads(log_sum_exp, log_sum_exp_shape, variant.groups);

    std::vector<operand *> operands = {&query, &key, &output, &log_sum_exp};
    if (has_value) {
        operands.push_back(&value);
    }
    const auto all_fit = [&](part part) {
        return std::all_of(operands.begin(), operands.end(),
                           [part](const operand *operand) { return operand->fits(part); });
    };
    const part part = all_fit(part::everything)  ? part::everything
                      : all_fit(part::one_batch) ? part::one_batch
                                                 : part::one_group;
    for (operand *operand : operands) {
        if (part == part::one_group && !operand->fits(part)) {
            if (operand->elements(part) > halide_limit) {
                throw invalid_argument_error(text(variant.name, ": ", operand->name(), " has ", operand->elements(part),
                                                  " elements for each batch and group, kernels count at most ",
                                                  halide_limit));
            }
            operand->use_copies();
        } else if (!operand->has_data()) {
            operand->use_scratch(part);
        }
    }

    input_list list(variant, inputs, no_keys);
    void *user_context = &context;
    std::int32_t q_len = static_cast<std::int32_t>(call.sizes.q_len);
    std::int32_t kv_len = static_cast<std::int32_t>(call.sizes.kv_len);
    std::vector<void *> arguments = {&user_context, query.buffer(), key.buffer()};
    if (has_value) {
        arguments.push_back(value.buffer());
    }
    arguments.reserve(static_cast<std::size_t>(variant.input_count + kernel.table_count) + 8);
    for (int i = 0; i < variant.input_count; ++i) {
        arguments.push_back(list.argument(i, inputs[i]));
    }
    table_list tables(variant, kernel, call.sizes);
    if (kernel.table_count > 0) {
        std::vector<void *> of_tables = {&user_context};
        of_tables.insert(of_tables.end(), arguments.begin() + 4, arguments.end());
        of_tables.insert(of_tables.end(), {&q_len, &kv_len});
        tables.append_to(of_tables);
        const int result = kernel.make_tables(of_tables.data());
        if (result != 0 || !context.error_text.empty()) {
            report(variant, kernel, context, result);
        }
        tables.pass_any_check();
        tables.append_to(arguments);
    }
    arguments.insert(arguments.end(), {&q_len, &kv_len, output.buffer(), log_sum_exp.buffer()});

    const std::int64_t batches = part == part::everything ? 1 : call.sizes.batch;
    const std::int64_t groups = part == part::one_group ? variant.groups : 1;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
        for (std::int64_t group = 0; group < groups; ++group) {
            for (operand *operand : operands) {
                operand->begin(part, batch, group);
            }
            const int result = kernel.run(arguments.data());
            if (result != 0 || !context.error_text.empty()) {
                report(variant, kernel, context, result);
            }
            for (operand *operand : operands) {
                operand->end();
            }
        }
    }
}

}  // namespace heed::detail
