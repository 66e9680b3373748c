// SPDX-License-Identifier: MIT

#include "kernel_call.hpp"

#include <algorithm>
#include <vector>

#include <heed/device.hpp>
#include "device_limits.hpp"

#include "device_memory.hpp"
#include "kernel_arguments.hpp"

namespace heed::detail {
namespace {

/// What one run of the kernel covers.
enum class part { everything, one_batch, one_group };

constexpr int axes_left_out(part part) noexcept {
    return part == part::everything ? 0 : part == part::one_batch ? 1 : 2;
}

/// Groups of all batches together that are computed at a time.
std::int64_t groups_of(part part, const variant_description &variant, const call_sizes &sizes) noexcept {
    return part == part::one_group ? 1 : variant.groups * (part == part::one_batch ? 1 : sizes.batch);
}

/// What kernels do with an operand. Those of devices read rows of a multiple of four elements in fours, where keys and
/// values are concerned: generators/src/algorithm_gpu.cpp.
enum class use { read, read_in_fours, written };

/// query, key, value, output or log_sum_exp as the kernel sees it. The last two axes are group and batch; those before
/// them make up what belongs to one group.
class operand {
  public:
    operand(const char *name, data_type type, use use, device_kind device)
        : name_(name), use_(use), device_(device), element_bytes_(bytes_of(type)) {
        describe(buffer_, type, dimensions_, 0, device != device_kind::cpu);
    }

    /// head_dim or value_dim: kernels insist on its stride, also where there is one element only.
    void add_innermost_axis(std::int64_t extent) noexcept { axes_[buffer_.dimensions++] = {extent, 1}; }

    void add_axis(std::int64_t extent, std::int64_t stride) noexcept {
        axes_[buffer_.dimensions++] = {extent, extent > 1 ? stride : 0};
    }

    void set_data(char *data) noexcept { data_ = data; }
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

    bool fits(part part) const noexcept {
        if (device_ != device_kind::cpu) {
            return elements(part) <= limits_of(device_).elements && (!on_device_ || span_fits(part));
        }
        return fits_halide(axes_, buffer_.dimensions - axes_left_out(part));
    }

    bool can_be_used_in_place() const noexcept {
        return std::all_of(axes_, axes_ + buffer_.dimensions, [](const axis &axis) { return axis.stride >= 0; }) &&
               can_be_read_in_fours(1);
    }

    bool span_fits(part part) const noexcept {
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

    /// Whether a part may be copied to a device and back as it lies in memory.
    bool lies_compact(part part) const {
        const int rank = buffer_.dimensions - axes_left_out(part);
        return is_compact(axes_, rank) && can_be_read_in_fours(rank);
    }

    /// Whether all fours begin at multiples of four, as far as kernels count on it; those without gaps within the first
    /// `rank` axes do where the first does.
    bool can_be_read_in_fours(int rank) const noexcept {
        if (use_ != use::read_in_fours || axes_[0].extent % 4 != 0) {
            return true;
        }
        const bool is_multiple =
            !is_address_ || reinterpret_cast<std::uintptr_t>(data_) % static_cast<unsigned>(4 * element_bytes_) == 0;
        return is_multiple && std::all_of(axes_ + rank, axes_ + buffer_.dimensions,
                                          [](const axis &outer) { return outer.stride % 4 == 0; });
    }

    std::int64_t elements(part part) const noexcept {
        std::int64_t count = 1;
        for (int i = 0; i < buffer_.dimensions - axes_left_out(part); ++i) {
            count *= axes_[i].extent;
        }
        return count;
    }

    /// Backs a result that nobody asked for; parts that run one after the other share the memory.
    void use_scratch(part part) {
        in_scratch_ = true;
        data_ = reinterpret_cast<char *>(scratch_.allocate(static_cast<std::size_t>(elements(part))));
        make_dense(axes_, buffer_.dimensions);
        for (int i = 0; i < axes_left_out(part); ++i) {
            axes_[buffer_.dimensions - 1 - i].stride = 0;
        }
    }

    /// Makes each part pass through dense memory, for strides within it that Halide cannot count or a device copy.
    void use_copies(part part) {
        copy_rank_ = buffer_.dimensions - axes_left_out(part);
        for (int i = 0; i < copy_rank_; ++i) {
            dense_axes_[i] = axes_[i];
        }
        copy_ =
            reinterpret_cast<char *>(scratch_.allocate(static_cast<std::size_t>(make_dense(dense_axes_, copy_rank_))));
    }

    /// Points the buffer at what belongs to the part that starts at `batch` and `group`.
    void begin(part part, std::int64_t batch, std::int64_t group) {
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

    void end() {
        if (copy_ != nullptr && is_written()) {
            copy_elements(place_, axes_, copy_, dense_axes_, copy_rank_, element_bytes_);
        }
    }

  private:
    int group_rank() const noexcept { return buffer_.dimensions - 2; }

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

/// Mesa's driver of Vulkan for CPUs leaves a thread's loops after 65535 turns, without a word.
device_limits limits_of_driver(device_kind device) {
    device_limits limits = limits_of(device);
    if (device == device_kind::vulkan && device_of(device).is_cpu) {
        limits.turns = 65535;
    }
    return limits;
}

/// The kernel with what it takes on the device and brings back from there.
int run_on_device(const kernel_description &kernel, const std::vector<operand *> &operands, void **arguments,
                  device_kind memory, device_memory &lent) {
    int result = 0;
    for (operand *operand : operands) {
        if (!operand->is_on_device()) {
            lent.lend(*operand->buffer(), operand->is_written());
        } else if (result == 0) {
            result = lent.wrap(*operand->buffer(), operand->place(), memory);
        }
    }
    if (result == 0) {
        result = kernel.run(arguments);
    }
    for (operand *operand : operands) {
        if (result == 0 && operand->is_written() && operand->is_asked_for()) {
            result = operand->is_on_device() ? lent.finish(*operand->buffer()) : lent.fetch(*operand->buffer());
        }
    }
    for (operand *operand : operands) {
        // After a failure, too, nothing works on the caller's memory any more.
        if (result != 0 && operand->is_on_device() && operand->buffer()->device != 0) {
            lent.finish(*operand->buffer());
            break;
        }
    }
    for (operand *operand : operands) {
        if (operand->is_on_device()) {
            lent.release(*operand->buffer(), memory);
        } else {
            lent.free(*operand->buffer());
        }
    }
    return result;
}

}  // namespace

void call_kernel(const variant_description &variant, const kernel_description &kernel, const checked_call &call,
                 const tensor *inputs, device_kind memory, call_context &context) {
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
    const bool for_device = kernel.device != device_kind::cpu;
    operand query("query", types.query, use::read, kernel.device);
    operand key("key", types.key, use::read_in_fours, kernel.device);
    operand value("value", types.value, use::read_in_fours, kernel.device);
    operand output("output", types.output, use::written, kernel.device);
    operand log_sum_exp("log_sum_exp", data_type::f32, use::written, kernel.device);
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
    if (memory != device_kind::cpu) {
        for (operand *operand : operands) {
            if (operand->is_read_in_fours() && no_keys) {
                continue;  // it is in host memory and never read
            }
            operand->set_on_device(has_addresses(memory));
            if (operand->is_on_device() && !operand->can_be_used_in_place()) {
                throw invalid_argument_error(
                    text(variant.name, ": ", operand->name(), " lies in memory of ", name_of(memory),
                         operand->is_read_in_fours()
                             ? ", and has a stride that is negative or no multiple of four elements, or begins "
                               "between such multiples"
                             : ", and has a negative stride",
                         ". Kernels use such memory as it is. Fix: copy the tensor"));
            }
        }
    }
    const device_limits limits = limits_of_driver(kernel.device);
    const std::int64_t limit = limits.elements;
    const needs_of_group needs = for_device ? needs_of(variant, kernel, call.sizes) : needs_of_group{};
    const auto why_too_large = [&](part part) -> std::string {
        for (const operand *operand : operands) {
            if (!operand->fits(part)) {
                return text(operand->name(), " has more than ", limit,
                            " elements, or as many with the gaps between them");
            }
        }
        return for_device ? why_too_many(groups_of(part, variant, call.sizes), needs, kernel, limits) : std::string();
    };
    const std::string why_not_everything = why_too_large(part::everything);
    const part part = why_not_everything.empty()               ? part::everything
                      : why_too_large(part::one_batch).empty() ? part::one_batch
                                                               : part::one_group;
    if (for_device && part == part::one_group) {
        const std::string why_never = why_too_many(1, needs, kernel, limits);
        if (!why_never.empty()) {
            throw does_not_fit_error(
                text(variant.name, ": ", why_never,
                     ", for one group of one batch. Fix: pass fewer queries or keys at a time, or ",
                     memory == device_kind::cpu ? "call a kernel of the CPU"
                                                : "copy the tensors to host memory and call a kernel of the CPU"));
        }
    }
    if (!has_addresses(memory) && part == part::one_batch) {
        throw does_not_fit_error(text(variant.name, ": ", why_not_everything, ". Tensors in memory of ",
                                      name_of(memory),
                                      " are used as a whole. Fix: call the kernel for fewer batches at a time"));
    }
    if (!has_addresses(memory) && part == part::one_group) {
        throw does_not_fit_error(text(variant.name, ": ", why_too_large(part::one_batch),
                                      ", for one batch. Tensors in memory of ", name_of(memory),
                                      " are used as a whole. Fix: pass fewer queries or keys at a time, or copy the "
                                      "tensors to host memory, from where kernels take one group at a time"));
    }
    for (operand *operand : operands) {
        if (part == part::one_group && !operand->fits(part)) {
            if (operand->elements(part) > limit || operand->is_on_device()) {
                throw does_not_fit_error(text(variant.name, ": ", operand->name(), " has ", operand->elements(part),
                                              " elements for each batch and group, kernels count at most ", limit,
                                              operand->is_on_device() ? ", the gaps between them included" : "",
                                              ". Fix: pass fewer queries or keys at a time"));
            }
            operand->use_copies(part);
        } else if (!operand->has_data()) {
            operand->use_scratch(part);
        } else if (for_device && !operand->is_on_device() && !operand->lies_compact(part)) {
            operand->use_copies(part);
        }
    }

    input_list list(variant, inputs, no_keys, for_device);
    device_memory lent(context);
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
        if (for_device && inputs[i].rank > 0) {
            lent.lend(*static_cast<halide_buffer_t *>(arguments.back()));
        }
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
            const int result = for_device ? run_on_device(kernel, operands, arguments.data(), memory, lent)
                                          : kernel.run(arguments.data());
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
