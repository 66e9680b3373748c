// SPDX-License-Identifier: MIT

#include "kernel_call.hpp"

#include <algorithm>
#include <vector>

#include <heed/device.hpp>

#include "device_limits.hpp"
#include "device_memory.hpp"
#include "kernel_arguments.hpp"
#include "operand.hpp"

namespace heed::detail {
namespace {

/// Groups of all batches together that are computed at a time.
std::int64_t groups_of(part part, const variant_description &variant, const call_sizes &sizes) noexcept {
    return part == part::one_group ? 1 : variant.groups * (part == part::one_batch ? 1 : sizes.batch);
}

/// Mesa's driver of Vulkan for CPUs leaves a thread's loops after 65535 turns, without a word.
device_limits limits_of_driver(device_kind device) {
    device_limits limits = limits_of(device);
    if (device == device_kind::vulkan && device_of(device).is_cpu) {
        limits.turns = 65535;
    }
    return limits;
}

/// Also of one that nobody asked for: kernels write it all the same.
tensor_shape log_sum_exp_shape(const checked_call &call) noexcept {
    if (call.log_sum_exp.rank > 0) {
        return call.log_sum_exp;
    }
    tensor_shape shape;
    shape.rank = 3;
    std::copy(call.query.axes, call.query.axes + 3, shape.axes);
    for (axis &axis : shape.axes) {
        axis.stride = 0;
    }
    return shape;
}

/// A call with its operands, which is cut into parts that the kernel can take.
class kernel_call {
  public:
    kernel_call(const variant_description &variant, const kernel_description &kernel, const checked_call &call,
                device_kind memory, call_context &context);

    void run(const tensor *inputs);

  private:
    bool is_for_device() const noexcept { return kernel_.device != device_kind::cpu; }
    bool has_no_keys() const noexcept { return sizes_.kv_len == 0; }

    char *zeros_for_keys();
    void use_memory_of_device();

    std::string why_too_large(part part) const;
    part choose_part() const;
    void refuse_too_large_groups() const;
    [[noreturn]] void refuse_parts(const std::string &why_not_everything, const std::string &why_not_one_batch) const;
    void allocate();

    std::vector<void *> arguments_of(input_list &list, const tensor *inputs, device_memory &lent) const;
    void make_tables(const std::vector<void *> &of_inputs, table_list &tables);
    std::vector<void *> all_arguments(const std::vector<void *> &of_inputs, table_list &tables);

    void run_part(void **arguments, std::int64_t batch, std::int64_t group);
    int run_on_device(void **arguments);
    int take_to_device(device_memory &taken);
    int bring_back(device_memory &taken);
    void check(int result) const;

    const variant_description &variant_;
    const kernel_description &kernel_;
    const call_sizes sizes_;
    const device_kind memory_;
    call_context &context_;
    device_limits limits_;
    needs_of_group needs_;
    scratch_block zeros_;
    operand query_, key_, value_, output_, log_sum_exp_;
    std::vector<operand *> operands_;  ///< without value_ where there is none
    bool has_value_;
    part part_ = part::everything;

    // What arguments point at.
    void *user_context_ = &context_;
    std::int32_t q_len_, kv_len_;
};

kernel_call::kernel_call(const variant_description &variant, const kernel_description &kernel, const checked_call &call,
                         device_kind memory, call_context &context)
    : variant_(variant),
      kernel_(kernel),
      sizes_(call.sizes),
      memory_(memory),
      context_(context),
      limits_(limits_of_driver(kernel.device)),
      query_("query", kernel.types.query, use::read, kernel.device),
      key_("key", kernel.types.key, use::read_in_fours, kernel.device),
      value_("value", kernel.types.value, use::read_in_fours, kernel.device),
      output_("output", kernel.types.output, use::written, kernel.device),
      log_sum_exp_("log_sum_exp", data_type::f32, use::written, kernel.device),
      operands_{&query_, &key_, &output_, &log_sum_exp_},
      has_value_(call.value.rank > 0),
      q_len_(static_cast<std::int32_t>(call.sizes.q_len)),
      kv_len_(static_cast<std::int32_t>(call.sizes.kv_len)) {
    char *const zeros = has_no_keys() ? zeros_for_keys() : nullptr;
    query_.split_heads(call.query, variant.groups);
    key_.keep_groups(call.key, zeros);
    if (has_value_) {
        value_.keep_groups(call.value, zeros);
        operands_.push_back(&value_);
    }
    output_.split_heads(call.output, variant.groups);
    log_sum_exp_.split_heads(log_sum_exp_shape(call), variant.groups);
    if (is_for_device()) {
        needs_ = needs_of(variant, kernel, sizes_);
    }
    if (memory != device_kind::cpu) {
        use_memory_of_device();
    }
}

/// One key, or value.
char *kernel_call::zeros_for_keys() {
    const std::size_t count = static_cast<std::size_t>(std::max(variant_.head_dim, variant_.value_dim));
    float *const floats = zeros_.allocate(count);
    std::fill(floats, floats + count, 0.0f);
    return reinterpret_cast<char *>(floats);
}

void kernel_call::use_memory_of_device() {
    for (operand *operand : operands_) {
        if (operand->is_read_in_fours() && has_no_keys()) {
            continue;  // it is in host memory and never read
        }
        operand->set_on_device(has_addresses(memory_));
        if (operand->is_on_device() && !operand->can_be_used_in_place()) {
            throw invalid_argument_error(
                text(variant_.name, ": ", operand->name(), " lies in memory of ", name_of(memory_),
                     operand->is_read_in_fours() ? ", and has a stride that is negative or no multiple of four "
                                                   "elements, or begins between such multiples"
                                                 : ", and has a negative stride",
                     ". Kernels use such memory as it is. Fix: copy the tensor"));
        }
    }
}

std::string kernel_call::why_too_large(part part) const {
    for (const operand *operand : operands_) {
        if (!operand->fits(part)) {
            return text(operand->name(), " has more than ", limits_.elements,
                        " elements, or as many with the gaps between them");
        }
    }
    return is_for_device() ? why_too_many(groups_of(part, variant_, sizes_), needs_, kernel_, limits_) : std::string();
}

/// The largest one that the kernel can take.
part kernel_call::choose_part() const {
    const std::string why_not_everything = why_too_large(part::everything);
    if (why_not_everything.empty()) {
        return part::everything;
    }
    const std::string why_not_one_batch = why_too_large(part::one_batch);
    if (!why_not_one_batch.empty()) {
        refuse_too_large_groups();
    }
    if (!has_addresses(memory_)) {
        refuse_parts(why_not_everything, why_not_one_batch);
    }
    return why_not_one_batch.empty() ? part::one_batch : part::one_group;
}

/// There is no smaller part.
void kernel_call::refuse_too_large_groups() const {
    const std::string why_never = is_for_device() ? why_too_many(1, needs_, kernel_, limits_) : std::string();
    if (!why_never.empty()) {
        throw does_not_fit_error(text(variant_.name, ": ", why_never,
                                      ", for one group of one batch. Fix: pass fewer queries or keys at a time, or ",
                                      memory_ == device_kind::cpu
                                          ? "call a kernel of the CPU"
                                          : "copy the tensors to host memory and call a kernel of the CPU"));
    }
    for (const operand *operand : operands_) {
        const std::int64_t elements = operand->elements(part::one_group);
        // Others can be copied into less memory.
        if (elements > limits_.elements || (operand->is_on_device() && !operand->fits(part::one_group))) {
            throw does_not_fit_error(text(variant_.name, ": ", operand->name(), " has ", elements,
                                          " elements for each batch and group, kernels count at most ",
                                          limits_.elements,
                                          operand->is_on_device() ? ", the gaps between them included" : "",
                                          ". Fix: pass fewer queries or keys at a time"));
        }
    }
}

void kernel_call::refuse_parts(const std::string &why_not_everything, const std::string &why_not_one_batch) const {
    const bool has_small_batches = why_not_one_batch.empty();
    throw does_not_fit_error(
        text(variant_.name, ": ", has_small_batches ? why_not_everything : why_not_one_batch + ", for one batch",
             ". Tensors in memory of ", name_of(memory_), " are used as a whole. Fix: ",
             has_small_batches ? "call the kernel for fewer batches at a time"
                               : "pass fewer queries or keys at a time, or copy the tensors to host memory, from where "
                                 "kernels take one group at a time"));
}

/// What the chosen part needs besides the caller's memory.
void kernel_call::allocate() {
    for (operand *operand : operands_) {
        if (!operand->has_data()) {
            operand->use_scratch(part_);
        } else if (!operand->fits(part_) ||
                   (is_for_device() && !operand->is_on_device() && !operand->lies_compact(part_))) {
            operand->use_copies(part_);
        }
    }
}

std::vector<void *> kernel_call::arguments_of(input_list &list, const tensor *inputs, device_memory &lent) const {
    std::vector<void *> arguments;
    arguments.reserve(static_cast<std::size_t>(variant_.input_count));
    for (int i = 0; i < variant_.input_count; ++i) {
        arguments.push_back(list.argument(i, inputs[i]));
        if (is_for_device() && inputs[i].rank > 0) {
            lent.lend(*static_cast<halide_buffer_t *>(arguments.back()));
        }
    }
    return arguments;
}

void kernel_call::make_tables(const std::vector<void *> &of_inputs, table_list &tables) {
    if (kernel_.table_count == 0) {
        return;
    }
    std::vector<void *> arguments = {&user_context_};
    arguments.insert(arguments.end(), of_inputs.begin(), of_inputs.end());
    arguments.insert(arguments.end(), {&q_len_, &kv_len_});
    tables.append_to(arguments);
    check(kernel_.make_tables(arguments.data()));
    tables.pass_any_check();
}

/// In the order of kernel_description::run.
std::vector<void *> kernel_call::all_arguments(const std::vector<void *> &of_inputs, table_list &tables) {
    std::vector<void *> arguments;
    arguments.reserve(of_inputs.size() + static_cast<std::size_t>(kernel_.table_count) + 8);
    arguments.insert(arguments.end(), {&user_context_, query_.buffer(), key_.buffer()});
    if (has_value_) {
        arguments.push_back(value_.buffer());
    }
    arguments.insert(arguments.end(), of_inputs.begin(), of_inputs.end());
    tables.append_to(arguments);
    arguments.insert(arguments.end(), {&q_len_, &kv_len_, output_.buffer(), log_sum_exp_.buffer()});
    return arguments;
}

void kernel_call::run(const tensor *inputs) {
    part_ = choose_part();
    allocate();
    input_list list(variant_, inputs, has_no_keys(), is_for_device());
    device_memory lent(context_);
    const std::vector<void *> of_inputs = arguments_of(list, inputs, lent);
    table_list tables(variant_, kernel_, sizes_);
    make_tables(of_inputs, tables);
    std::vector<void *> arguments = all_arguments(of_inputs, tables);

    const std::int64_t batches = part_ == part::everything ? 1 : sizes_.batch;
    const std::int64_t groups = part_ == part::one_group ? variant_.groups : 1;
    for (std::int64_t batch = 0; batch < batches; ++batch) {
        for (std::int64_t group = 0; group < groups; ++group) {
            run_part(arguments.data(), batch, group);
        }
    }
}

void kernel_call::run_part(void **arguments, std::int64_t batch, std::int64_t group) {
    for (operand *operand : operands_) {
        operand->begin(part_, batch, group);
    }
    check(is_for_device() ? run_on_device(arguments) : kernel_.run(arguments));
    for (operand *operand : operands_) {
        operand->end();
    }
}

/// The kernel with what it takes on the device and brings back from there.
int kernel_call::run_on_device(void **arguments) {
    device_memory taken(context_);
    int result = take_to_device(taken);
    if (result == 0) {
        result = kernel_.run(arguments);
    }
    if (result == 0) {
        result = bring_back(taken);
    }
    if (result != 0) {
        taken.finish();  // nothing works on the caller's memory any more
    }
    return result;
}

int kernel_call::take_to_device(device_memory &taken) {
    for (operand *operand : operands_) {
        if (!operand->is_on_device()) {
            taken.lend(*operand->buffer(), operand->is_written());
        } else if (const int result = taken.wrap(*operand->buffer(), operand->place(), memory_); result != 0) {
            return result;
        }
    }
    return 0;
}

int kernel_call::bring_back(device_memory &taken) {
    for (operand *operand : operands_) {
        if (!operand->is_written() || !operand->is_asked_for()) {
            continue;
        }
        const int result = operand->is_on_device() ? taken.finish(*operand->buffer()) : taken.fetch(*operand->buffer());
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

void kernel_call::check(int result) const {
    if (result != 0 || !context_.error_text.empty()) {
        report(variant_, kernel_, context_, result);
    }
}

}  // namespace

void call_kernel(const variant_description &variant, const kernel_description &kernel, const checked_call &call,
                 const tensor *inputs, device_kind memory, call_context &context) {
    kernel_call(variant, kernel, call, memory, context).run(inputs);
}

}  // namespace heed::detail
