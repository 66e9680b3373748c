// SPDX-License-Identifier: MIT

#include <limits>
#include <new>

#include <heed/device.hpp>
#include <heed/untyped_call.hpp>

#include "argument_check.hpp"
#include "as_status.hpp"
#include "call_context.hpp"
#include "call_frame.hpp"
#include "device_kernel.hpp"
#include "halide_repairs.hpp"
#include "kernel_arguments.hpp"
#include "kernel_call.hpp"
#include "text.hpp"

namespace heed {

namespace {

/// Rows that see no key: the logarithm of an empty sum. Does nothing if it was not asked for.
void write_log_sum_exp_of_nothing(const detail::tensor_shape &shape) noexcept {
    if (shape.rank == 0) {
        return;
    }
    const auto &[batch, heads, rows, unused] = shape.axes;
    auto *const first = reinterpret_cast<float *>(shape.data);
    for (std::int64_t b = 0; b < batch.extent; ++b) {
        for (std::int64_t h = 0; h < heads.extent; ++h) {
            for (std::int64_t row = 0; row < rows.extent; ++row) {
                first[b * batch.stride + h * heads.stride + row * rows.stride] =
                    -std::numeric_limits<float>::infinity();
            }
        }
    }
}

/// Before the arguments are checked, which takes a kernel.
std::int64_t queries_of(const tensor &query) noexcept {
    return query.rank == 4 && query.extents != nullptr ? query.extents[2] : 0;
}

/// A kernel that was chosen by what this machine can run.
void run_kernel(const call_arguments &arguments, const kernel_description &kernel) {
    const variant_description &variant = *arguments.variant;
    const detail::checked_call call = detail::check_arguments(arguments, kernel);
    detail::call_context context;
    const auto &[batch, q_len, kv_len] = call.sizes;
    context.thread_limit = detail::useful_threads(detail::operations_of(variant, batch * q_len, kv_len),
                                                  detail::operations_per_thread, arguments.threads);
    if (batch == 0 || q_len == 0) {
        return;
    }
    if (call.output.axes[3].extent == 0) {  // no key has a weight
        write_log_sum_exp_of_nothing(call.log_sum_exp);
        return;
    }
    detail::install_halide_hooks();
    context.device = kernel.device;
    context.on_memory_of_cuda = arguments.memory == device_kind::cuda;
    context.cuda_stream = arguments.stream;
    const detail::context_scope scope(&context);
    detail::repair_halide(kernel.device, &context);
    detail::call_kernel(variant, kernel, call, arguments.inputs, arguments.memory, context);
}

/// One that the caller chose.
void run_given_kernel(const call_arguments &arguments) {
    const char *const variant = arguments.variant->name;
    const kernel_description &kernel = *arguments.kernel;
    const device_kind memory = arguments.memory;
    if (memory != device_kind::cpu && memory != kernel.device) {
        throw invalid_argument_error(detail::text(variant, ": tensors lie in memory of ", name_of(memory), ", kernel ",
                                                  kernel.name, " is for ", name_of(kernel.device),
                                                  ". Fix: choose another"));
    }
    const std::string unusable = kernel.device == device_kind::cpu ? "" : detail::why_unusable(kernel, memory);
    if (!unusable.empty()) {
        throw unsupported_error(
            detail::text(variant, ": kernel ", kernel.name, " cannot run here: ", unusable, ". Fix: ",
                         memory == device_kind::cpu ? "call a kernel of the CPU."
                                                    : "copy the tensors to host memory and call a kernel of the CPU."));
    }
    run_kernel(arguments, kernel);
}

/// Runs the kernel, or says why its device did not and another may. What has been written by then is written again.
std::string why_device_failed(const call_arguments &arguments, const kernel_description &kernel) {
    try {
        run_kernel(arguments, kernel);
    } catch (const detail::does_not_fit_error &failure) {
        return failure.what();
    } catch (const kernel_error &failure) {
        return failure.what();
    } catch (const out_of_memory_error &failure) {
        return failure.what();
    } catch (const std::bad_alloc &) {
        return "out of memory for copies of tensors";
    }
    return {};
}

/// A call on a GPU, or if it prefers one and there is none, on the CPU.
void run_on_device(const call_arguments &arguments, const detail::kernel_request &request) {
    const bool is_in_host_memory = arguments.memory == device_kind::cpu;
    const bool may_use_cpu = arguments.device == device_preference::gpu_else_cpu && is_in_host_memory;
    const detail::device_choice choice = detail::find_device_kernel(request);
    if (!may_use_cpu) {
        if (choice.kernel == nullptr) {
            throw unsupported_error(detail::text(
                arguments.variant->name, ": no GPU can run this call: ", choice.reason, ". Fix: ", choice.fix,
                is_in_host_memory ? ", or prefer gpu_else_cpu" : ", or copy the tensors to host memory"));
        }
        run_kernel(arguments, *choice.kernel);
        return;
    }
    const std::string reason = choice.kernel != nullptr ? why_device_failed(arguments, *choice.kernel) : choice.reason;
    if (reason.empty()) {
        return;
    }
    const kernel_description *of_cpu = nullptr;
    try {
        of_cpu = &detail::find_cpu_kernel(request);
    } catch (const unsupported_error &lack) {
        throw unsupported_error(detail::text(lack.what(), " No GPU can run it either: ", reason));
    }
    run_kernel(arguments, *of_cpu);
    if (arguments.why_cpu != nullptr) {
        *arguments.why_cpu = reason;
    }
}

}  // namespace

void run(const call_arguments &arguments) {
    detail::forget_reason(arguments);
    const variant_description &variant = detail::variant_of(arguments);
    const char *const pass = arguments.pass != nullptr ? arguments.pass : "forward";
    detail::throw_errors_only([&] {
        const bool has_value = arguments.value.given();
        const tensor_types types(arguments.query.type, arguments.key.type,
                                 has_value ? arguments.value.type : arguments.key.type, arguments.output.type);
        if (arguments.kernel != nullptr) {
            run_given_kernel(arguments);
            return;
        }
        const std::int64_t q_len = queries_of(arguments.query);
        if (arguments.device != device_preference::cpu || arguments.memory != device_kind::cpu) {
            run_on_device(arguments,
                          {variant, pass, types, q_len, arguments.schedule, arguments.isa, arguments.memory});
            return;
        }
        run_kernel(arguments, choose_kernel(variant, arguments.isa, pass, &types, q_len, arguments.schedule));
    });
}

status try_run(const call_arguments &arguments) noexcept {
    return detail::as_status([&] { run(arguments); });
}

}  // namespace heed
