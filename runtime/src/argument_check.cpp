// SPDX-License-Identifier: MIT

#include "argument_check.hpp"

#include <utility>

#include "argument_checker.hpp"

namespace heed::detail {

checked_call check_arguments(const call_arguments &arguments, const kernel_description &kernel) {
    const variant_description &variant = *arguments.variant;
    const tensor_types &types = kernel.types;
    const checker check(variant, kernel.pass, arguments.memory);
    const tensor &query = arguments.query, &key = arguments.key, &value = arguments.value;
    const tensor output = readable(arguments.output), log_sum_exp = readable(arguments.log_sum_exp);

    check.tensor_is_sound("query", query, types.query, 4, "a tensor (batch, heads, q_len, head_dim)",
                          typed_by::the_kernel);
    check.tensor_is_sound("key", key, types.key, 4, "a tensor (batch, groups, kv_len, head_dim)", typed_by::the_kernel);
    const bool is_forward = std::string_view(kernel.pass) != "weights";
    const char *const results = is_forward ? "output" : "weights";
    if (is_forward) {
        check.tensor_is_sound("value", value, types.value, 4, "a tensor (batch, groups, kv_len, value_dim)",
                              typed_by::the_kernel);
    } else if (value.given()) {
        check.refuse("value is given, but weights do not depend on it. Fix: leave value out");
    }
    check.tensor_is_sound(
        results, output, types.output, 4,
        is_forward ? "a tensor (batch, heads, q_len, value_dim)" : "a tensor (batch, heads, q_len, kv_len)",
        typed_by::the_kernel);

    check.heads_are("query", query, "heads", variant.heads);
    check.heads_are("key", key, "groups", variant.groups);
    if (is_forward) {
        check.heads_are("value", value, "groups", variant.groups);
    }
    check.heads_are(results, output, "heads", variant.heads);
    check.last_extent_is("query", query, "head_dim", variant.head_dim);
    check.last_extent_is("key", key, "head_dim", variant.head_dim);
    if (is_forward) {
        check.last_extent_is("value", value, "value_dim", variant.value_dim);
        check.last_extent_is("output", output, "value_dim", variant.value_dim);
    } else if (extent_of(output, 3) != extent_of(key, 2)) {
        check.refuse("weights has ", extent_of(output, 3), " columns, key has kv_len ", extent_of(key, 2),
                     ": there is one weight for each key, in the last dimension of weights");
    }

    check.extent_agrees("key", key, "query", query, 0, "batch");
    if (is_forward) {
        check.extent_agrees("value", value, "query", query, 0, "batch");
    }
    check.extent_agrees(results, output, "query", query, 0, "batch");
    if (is_forward) {
        check.extent_agrees("value", value, "key", key, 2, "kv_len");
    }
    check.extent_agrees(results, output, "query", query, 2, "q_len");

    check.innermost_is_contiguous("query", query, "head_dim");
    check.innermost_is_contiguous("key", key, "head_dim");
    if (is_forward) {
        check.innermost_is_contiguous("value", value, "value_dim");
    }
    check.innermost_is_contiguous(results, output, is_forward ? "value_dim" : "kv_len");

    if (log_sum_exp.given()) {
        check.log_sum_exp_is_sound(log_sum_exp, query, "a tensor (batch, heads, q_len)", "q_len");
    }

    const call_sizes sizes{extent_of(query, 0), extent_of(query, 2), extent_of(key, 2)};
    check.inputs_are_listed(arguments.inputs, arguments.input_count);
    for (int i = 0; i < variant.input_count; ++i) {
        check.input_covers_its_indices(i, arguments.inputs[i], sizes);
    }

    for (const auto &[name, written] : {std::pair(results, &output), std::pair("log_sum_exp", &log_sum_exp)}) {
        if (written->given()) {
            check.written_is_separate(name, *written, {{"query", query}, {"key", key}, {"value", value}},
                                      arguments.inputs);
        }
    }
    check.memory_is_separate(results, output, "log_sum_exp", log_sum_exp);

    return {sizes,
            shape_of(query),
            shape_of(key),
            is_forward ? shape_of(value) : tensor_shape{},
            shape_of(output),
            shape_of(log_sum_exp)};
}

}  // namespace heed::detail
