// SPDX-License-Identifier: MIT

#include <limits>

#include <heed/untyped_call.hpp>

#include "argument_check.hpp"
#include "as_status.hpp"
#include "call_context.hpp"
#include "call_frame.hpp"
#include "kernel_call.hpp"

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

}  // namespace

void run(const call_arguments &arguments) {
    const variant_description &variant = detail::variant_of(arguments);
    const char *const pass = arguments.pass != nullptr ? arguments.pass : "forward";
    detail::throw_errors_only([&] {
        const bool has_value = arguments.value.given();
        const tensor_types types(arguments.query.type, arguments.key.type,
                                 has_value ? arguments.value.type : arguments.key.type, arguments.output.type);
        const kernel_description &kernel =
            arguments.kernel != nullptr
                ? *arguments.kernel
                : choose_kernel(variant, arguments.isa, pass, &types, queries_of(arguments.query), arguments.schedule);
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
        const detail::context_scope scope(&context);
        detail::call_kernel(variant, kernel, call, arguments.inputs, context);
    });
}

status try_run(const call_arguments &arguments) noexcept {
    return detail::as_status([&] { run(arguments); });
}

}  // namespace heed
