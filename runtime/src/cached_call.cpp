// SPDX-License-Identifier: MIT
//
// Sequences differ in length, and each takes the kernel that suits it: a call is one task per sequence, the longest
// first, and the kernels' own parallel loops employ threads that have nothing else to do.

#include <heed/cached_call.hpp>

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

#include "as_status.hpp"
#include "cached_check.hpp"
#include "call_frame.hpp"
#include "kernel_arguments.hpp"
#include "thread_pool.hpp"

namespace heed {
namespace {

using detail::checked_cached_call;
using detail::checked_sequence;
using detail::tensor_shape;

/// A Halide buffer, dimensions innermost first.
class strided_buffer {
  public:
    strided_buffer(data_type type, char *data) noexcept {
        detail::describe(buffer_, type, dimensions_, 0);
        buffer_.host = reinterpret_cast<std::uint8_t *>(data);
    }
    strided_buffer(const strided_buffer &) = delete;
    strided_buffer &operator=(const strided_buffer &) = delete;

    strided_buffer &add(std::int64_t extent, std::int64_t stride, std::int64_t min = 0) noexcept {
        dimensions_[buffer_.dimensions++] = {static_cast<std::int32_t>(min), static_cast<std::int32_t>(extent),
                                             static_cast<std::int32_t>(stride)};
        return *this;
    }
    halide_buffer_t *get() noexcept { return &buffer_; }

  private:
    halide_buffer_t buffer_ = {};
    halide_dimension_t dimensions_[5];
};

/// Rows of one sequence out of (1, heads, tokens[, dim]), as kernels see them: [dim,] head in group, row, group, batch.
struct rows_of_heads : strided_buffer {
    rows_of_heads(const tensor_shape &shape, data_type type, const checked_sequence &sequence, std::int64_t groups)
        : strided_buffer(type, shape.data + sequence.first_row * shape.axes[2].stride * bytes_of(type)) {
        const std::int64_t heads_in_group = shape.axes[1].extent / groups;
        if (shape.rank == 4) {
            add(shape.axes[3].extent, 1);
        }
        add(heads_in_group, shape.axes[1].stride).add(sequence.new_tokens, shape.axes[2].stride);
        add(groups, shape.axes[1].stride * heads_in_group).add(1, 0, sequence.number);
    }
};

/// A part of the cache: [element,] token, group, page. Elements are counted through all tokens and pages, from the
/// lowest address on.
struct cache_part : strided_buffer {
    cache_part(const tensor_shape &shape, data_type type)
        : strided_buffer(type, shape.data + (shape.rank == 4 ? range_of(shape).lowest * bytes_of(type) : 0)) {
        if (shape.rank == 4) {
            const detail::offset_range range = range_of(shape);
            add(range.highest - range.lowest + 1, 1, range.lowest);
        }
        if (shape.rank > 0) {
            add(shape.axes[2].extent, shape.axes[2].stride).add(shape.axes[1].extent, shape.axes[1].stride);
            add(shape.axes[0].extent, shape.axes[0].stride);
        }
    }

  private:
    static detail::offset_range range_of(const tensor_shape &shape) noexcept {
        detail::offset_range range;
        for (const int dimension : {0, 2, 3}) {
            detail::extend(range, shape.axes[dimension]);
        }
        return range;
    }
};

/// Consecutive tokens of one sequence that lie in one page.
struct page_span {
    const checked_sequence *sequence;
    std::int64_t first_token, count;
};

/// The tokens of a span as append sees them, [dim,] token, group, batch: in a page of the cache, or among the rows of
/// the call.
struct span_in_page : strided_buffer {
    span_in_page(const tensor_shape &shape, data_type type, const page_span &span, std::int64_t page_size)
        : strided_buffer(type, shape.data + bytes_of(type) * (span.sequence->pages[span.first_token / page_size] *
                                                                  shape.axes[0].stride +
                                                              span.first_token % page_size * shape.axes[2].stride)) {
        if (shape.rank == 4) {
            add(shape.axes[3].extent, 1);
        }
        add(span.count, shape.axes[2].stride, span.first_token).add(shape.axes[1].extent, shape.axes[1].stride);
        add(1, 0, span.sequence->number);
    }
};

struct span_of_rows : strided_buffer {
    span_of_rows(const tensor_shape &shape, data_type type, const page_span &span)
        : strided_buffer(type, shape.data + bytes_of(type) * shape.axes[2].stride *
                                                (span.sequence->first_row + span.first_token -
                                                 (span.sequence->length - span.sequence->new_tokens))) {
        add(shape.axes[3].extent, 1).add(span.count, shape.axes[2].stride, span.first_token);
        add(shape.axes[1].extent, shape.axes[1].stride).add(1, 0, span.sequence->number);
    }
};

/// The arguments that all tasks of a call share.
class cached_kernels {
  public:
    cached_kernels(const cached_arguments &arguments, const checked_cached_call &call, detail::call_context &context)
        : arguments_(arguments),
          variant_(*arguments.variant),
          call_(call),
          context_(context),
          user_context_(&context),
          inputs_(variant_, arguments.inputs, false) {}

    void attend(const kernel_description &kernel, const checked_sequence &sequence) {
        const tensor_types &types = kernel.types;
        rows_of_heads query(call_.query, types.query, sequence, variant_.groups);
        rows_of_heads output(call_.output, types.output, sequence, variant_.groups);
        detail::scratch_block unwanted;
        tensor_shape log_sum_exp_shape = call_.log_sum_exp;
        checked_sequence place = sequence;
        if (log_sum_exp_shape.rank == 0) {
            log_sum_exp_shape.rank = 3;
            log_sum_exp_shape.axes[1] = {variant_.heads, sequence.new_tokens};
            log_sum_exp_shape.axes[2] = {sequence.new_tokens, 1};
            log_sum_exp_shape.data = reinterpret_cast<char *>(
                unwanted.allocate(static_cast<std::size_t>(variant_.heads * sequence.new_tokens)));
            place.first_row = 0;
        }
        rows_of_heads log_sum_exp(log_sum_exp_shape, data_type::f32, place, variant_.groups);
        cache_part key(call_.cache_key, types.key), value(call_.cache_value, types.value);
        cache_part key_scale(call_.key_scale, data_type::f32), value_scale(call_.value_scale, data_type::f32);
        // Kernels only read it.
        strided_buffer pages(data_type::i32, reinterpret_cast<char *>(const_cast<std::int32_t *>(sequence.pages)));
        pages.add((sequence.length + call_.page_size - 1) / call_.page_size, 1);

        std::vector<void *> list = new_list();
        list.insert(list.end(), {query.get(), key.get(), value.get()});
        if (types.key == data_type::i8) {
            list.push_back(key_scale.get());
        }
        if (types.value == data_type::i8) {
            list.push_back(value_scale.get());
        }
        list.push_back(pages.get());
        add_inputs(list);
        sizes_of_sequence sizes(sequence);
        detail::table_list tables(variant_, kernel, {1, sequence.new_tokens, sequence.length}, sequence.number);
        if (kernel.table_count > 0) {
            std::vector<void *> of_tables = new_list();
            add_inputs(of_tables);
            sizes.append_to(of_tables);
            tables.append_to(of_tables);
            finish(kernel, kernel.make_tables(of_tables.data()));
            tables.pass_any_check();
            tables.append_to(list);
        }
        sizes.append_to(list);
        list.insert(list.end(), {output.get(), log_sum_exp.get()});
        finish(kernel, kernel.run(list.data()));
    }

    void append(const kernel_description &kernel, const page_span &span) {
        const tensor_types &types = kernel.types;
        span_of_rows key_rows(call_.key, types.query, span), value_rows(call_.value, types.query, span);
        span_in_page key(call_.cache_key, types.key, span, call_.page_size);
        span_in_page value(call_.cache_value, types.value, span, call_.page_size);
        span_in_page key_scale(call_.key_scale, data_type::f32, span, call_.page_size);
        span_in_page value_scale(call_.value_scale, data_type::f32, span, call_.page_size);
        std::vector<void *> list = new_list();
        list.insert(list.end(), {key_rows.get(), value_rows.get()});
        add_inputs(list);
        sizes_of_sequence sizes(*span.sequence);
        sizes.append_to(list);
        list.insert(list.end(), {key.get(), value.get()});
        if (types.key == data_type::i8) {
            list.push_back(key_scale.get());
        }
        if (types.value == data_type::i8) {
            list.push_back(value_scale.get());
        }
        finish(kernel, kernel.run(list.data()));
    }

  private:
    struct sizes_of_sequence {
        std::int32_t q_len, kv_len;
        explicit sizes_of_sequence(const checked_sequence &sequence) noexcept
            : q_len(static_cast<std::int32_t>(sequence.new_tokens)),
              kv_len(static_cast<std::int32_t>(sequence.length)) {}
        void append_to(std::vector<void *> &list) noexcept { list.insert(list.end(), {&q_len, &kv_len}); }
    };

    /// Of arguments; the first is always the context.
    std::vector<void *> new_list() {
        std::vector<void *> list;
        list.reserve(static_cast<std::size_t>(variant_.input_count) + 16);
        list.push_back(&user_context_);
        return list;
    }

    void add_inputs(std::vector<void *> &list) {
        for (int i = 0; i < variant_.input_count; ++i) {
            list.push_back(inputs_.argument(i, arguments_.inputs[i]));
        }
    }

    void finish(const kernel_description &kernel, int result) const {
        if (result != 0) {
            // Other tasks may be reporting errors, too.
            const std::lock_guard<std::mutex> guard(context_.error_lock);
            detail::report(variant_, kernel, context_, result);
        }
    }

    const cached_arguments &arguments_;
    const variant_description &variant_;
    const checked_cached_call &call_;
    detail::call_context &context_;
    void *user_context_;
    detail::input_list inputs_;
};

/// Runs task(0), task(1), ... on the threads of a call, and throws what the first that failed has thrown.
template <typename Task>
void run_in_parallel(detail::call_context &context, std::size_t count, const Task &task) {
    struct shared_state {
        const Task &task;
        std::mutex lock;
        std::exception_ptr failure;
    } state{task, {}, {}};
    const auto run_one = [](void *, int number, std::uint8_t *closure) {
        auto &shared = *reinterpret_cast<shared_state *>(closure);
        try {
            shared.task(static_cast<std::size_t>(number));
            return 0;
        } catch (...) {
            const std::lock_guard<std::mutex> guard(shared.lock);
            if (!shared.failure) {
                shared.failure = std::current_exception();
            }
            return 1;
        }
    };
    detail::install_halide_hooks();
    const detail::context_scope scope(&context);
    detail::run_tasks(context, run_one, 0, static_cast<int>(count), reinterpret_cast<std::uint8_t *>(&state));
    if (state.failure) {
        std::rethrow_exception(state.failure);
    }
}

/// Kernels of the passes "append" and "cached" are for CPUs.
void stay_on_cpu(const cached_arguments &arguments) {
    const char *const name = arguments.variant->name;
    if (arguments.memory != device_kind::cpu) {
        throw unsupported_error(
            detail::text(name, ": tensors lie in memory of ", name_of(arguments.memory),
                         ", but calls with a cache run on CPUs and read host memory only. Fix: copy the tensors and "
                         "the cache to host memory, or call the kernel without a cache"));
    }
    if (arguments.device == device_preference::gpu) {
        throw unsupported_error(detail::text(name,
                                             ": the call asks for a GPU, but calls with a cache run on CPUs only. Fix: "
                                             "prefer gpu_else_cpu or cpu, or call the kernel without a cache"));
    }
    if (arguments.device == device_preference::gpu_else_cpu && arguments.why_cpu != nullptr) {
        *arguments.why_cpu = "calls with a cache run on CPUs only";
    }
}

}  // namespace

void attend(const cached_arguments &arguments) {
    detail::forget_reason(arguments);
    const variant_description &variant = detail::variant_of(arguments);
    detail::throw_errors_only([&] {
        stay_on_cpu(arguments);
        const tensor_types types(arguments.query.type, arguments.cache.key.type, arguments.cache.value.type,
                                 arguments.output.type);
        const auto kernel_for = [&](std::int64_t new_tokens) -> const kernel_description & {
            return choose_kernel(variant, arguments.isa, "cached", &types, new_tokens, arguments.schedule);
        };
        const kernel_description &any_kernel = kernel_for(INT64_MAX);
        checked_cached_call call = detail::check_cached_arguments(arguments, any_kernel);
        std::stable_sort(call.sequences.begin(), call.sequences.end(),
                         [](const checked_sequence &a, const checked_sequence &b) {
                             return a.new_tokens * a.length > b.new_tokens * b.length;
                         });
        double operations = 0;
        for (const checked_sequence &sequence : call.sequences) {
            operations += detail::operations_of(variant, sequence.new_tokens, sequence.length);
        }
        detail::call_context context;
        context.thread_limit = detail::useful_threads(operations, detail::operations_per_thread, arguments.threads);
        // Sequences that differ in nothing else are many.
        std::vector<const kernel_description *> chosen;
        for (std::size_t i = 0; i < call.sequences.size(); ++i) {
            const std::int64_t tokens = call.sequences[i].new_tokens;
            chosen.push_back(i > 0 && call.sequences[i - 1].new_tokens == tokens ? chosen.back() : &kernel_for(tokens));
        }
        cached_kernels kernels(arguments, call, context);
        run_in_parallel(context, call.sequences.size(),
                        [&](std::size_t i) { kernels.attend(*chosen[i], call.sequences[i]); });
    });
}

void append(const cached_arguments &arguments) {
    detail::forget_reason(arguments);
    const variant_description &variant = detail::variant_of(arguments);
    detail::throw_errors_only([&] {
        stay_on_cpu(arguments);
        const tensor_types types(arguments.key.type, arguments.cache.key.type, arguments.cache.value.type,
                                 data_type::f32);
        const kernel_description &kernel = choose_kernel(variant, arguments.isa, "append", &types);
        const checked_cached_call call = detail::check_append_arguments(arguments, kernel);
        std::vector<page_span> spans;
        double elements = 0;
        for (const checked_sequence &sequence : call.sequences) {
            for (std::int64_t token = sequence.length - sequence.new_tokens; token < sequence.length;) {
                const std::int64_t end = std::min((token / call.page_size + 1) * call.page_size, sequence.length);
                spans.push_back({&sequence, token, end - token});
                token = end;
            }
            elements +=
                static_cast<double>(sequence.new_tokens) * variant.groups * (variant.head_dim + variant.value_dim);
        }
        detail::call_context context;
        context.thread_limit = detail::useful_threads(elements, 1e5, arguments.threads);
        cached_kernels kernels(arguments, call, context);
        run_in_parallel(context, spans.size(), [&](std::size_t i) { kernels.append(kernel, spans[i]); });
    });
}

status try_attend(const cached_arguments &arguments) noexcept {
    return detail::as_status([&] { attend(arguments); });
}

status try_append(const cached_arguments &arguments) noexcept {
    return detail::as_status([&] { append(arguments); });
}

}  // namespace heed
