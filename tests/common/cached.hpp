// SPDX-License-Identifier: MIT
//
// Sequences in a cache, on every instruction set and schedule of this machine, against what the test says a variant
// means.
#pragma once

#include "verify.hpp"

#include <heed/key_value_cache.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace heed::tests {

struct sequence_sizes {
    std::int64_t length, new_tokens;
};

struct cached_case {
    std::vector<sequence_sizes> sequences;
    std::int64_t page_size = 16;
    data_type type = data_type::f32;
};

/// Element of a cache's tensor (pages, groups, page_size[, dim]), as a real number.
inline double element_of(const output_tensor &of, std::int64_t page, std::int64_t group, std::int64_t token,
                         std::int64_t dim = 0) {
    const std::int64_t index[] = {page, group, token, dim};
    std::int64_t offset = 0, stride = 1;
    for (int d = of.rank - 1; d >= 0; --d) {
        offset += index[d] * (of.strides != nullptr ? of.strides[d] : stride);
        stride *= of.extents[d];
    }
    switch (of.type) {
        case data_type::f32:
            return static_cast<const float *>(of.data)[offset];
        case data_type::f16:
            return float{static_cast<const float16 *>(of.data)[offset]};
        case data_type::bf16:
            return float{static_cast<const bfloat16 *>(of.data)[offset]};
        default:
            return static_cast<const std::int8_t *>(of.data)[offset];
    }
}

/// Sets every byte of a row-major tensor: NaN for reals.
inline void poison(const output_tensor &of) {
    if (!of.given()) return;
    std::int64_t count = bytes_of(of.type);
    for (int d = 0; d < of.rank; ++d) count *= of.extents[d];
    std::memset(of.data, 0xff, static_cast<std::size_t>(count));
}

/// One call's tensors: rows of all sequences one behind another, (1, heads or groups, tokens, row_size).
inline tensor<float, 4> rows_of(const std::vector<const tensor<float, 4> *> &parts,
                                const std::vector<std::int64_t> &first, const std::vector<std::int64_t> &count) {
    std::int64_t tokens = 0;
    for (const std::int64_t each : count) tokens += each;
    const auto &extents = parts[0]->extents();
    tensor<float, 4> rows({1, extents[1], tokens, extents[3]});
    std::int64_t row = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        for (std::int64_t t = 0; t < count[i]; ++t, ++row) {
            for (std::int64_t head = 0; head < extents[1]; ++head) {
                for (std::int64_t d = 0; d < extents[3]; ++d)
                    rows(0, head, row, d) = (*parts[i])(0, head, first[i] + t, d);
            }
        }
    }
    return rows;
}

/// What a variant means for one sequence of a call, the only one of its problem.
inline semantics of_sequence(const semantics &meaning, std::int64_t number) {
    semantics one = meaning;
    const auto numbered = [number](auto at) {
        at.batch = number;
        return at;
    };
    if (meaning.attends) one.attends = [=](const pair &at) { return meaning.attends(numbered(at)); };
    if (meaning.modify) one.modify = [=](double score, const pair &at) { return meaning.modify(score, numbered(at)); };
    return one;
}

template <class Inputs>
void append_to(const attention_kernel<Inputs> &kernel, const tensor<float, 4> &key, const tensor<float, 4> &value,
               const cache_tensors &cache, const std::vector<cached_sequence> &sequences,
               const inputs_or_none<Inputs> &inputs, const call_options &options) {
    if constexpr (std::is_void_v<Inputs>) {
        kernel.append(key.view(), value.view(), cache, sequences, options);
    } else {
        kernel.append(key.view(), value.view(), cache, sequences, inputs, options);
    }
}

template <class Inputs>
void attend_to(const attention_kernel<Inputs> &kernel, const tensor<float, 4> &query, const cache_tensors &cache,
               const std::vector<cached_sequence> &sequences, tensor<float, 4> &output,
               const inputs_or_none<Inputs> &inputs, const call_options &options) {
    if constexpr (std::is_void_v<Inputs>) {
        kernel.attend(query.view(), cache, sequences, output.view(), options);
    } else {
        kernel.attend(query.view(), cache, sequences, output.view(), inputs, options);
    }
}

/// How far an element of type `type` may be from what it stores, where `scale` is that of its row.
inline double storage_error(data_type type, double exact, double scale) {
    switch (type) {
        case data_type::f16:
            return std::ldexp(std::fabs(exact), -11) + 1e-7;
        case data_type::bf16:
            return std::ldexp(std::fabs(exact), -8) + 1e-7;
        case data_type::i8:
            return 0.5001 * scale;
        default:
            return 2e-6 * std::max(1.0, std::fabs(exact));
    }
}

/// Compares what is stored with the changed rows of `from`, and puts it in their place.
inline double take_stored(tensor<float, 4> &rows, const output_tensor &stored, const output_tensor &scales,
                          const std::function<void(row_values &, const place &)> &modify,
                          const cached_sequence &sequence, std::int64_t number, std::int64_t page_size) {
    double worst = 0;
    const auto &extents = rows.extents();
    for (std::int64_t group = 0; group < extents[1]; ++group) {
        for (std::int64_t t = 0; t < extents[2]; ++t) {
            row_values exact;
            for (std::int64_t d = 0; d < extents[3]; ++d) exact.push_back(rows(0, group, t, d));
            if (modify) modify(exact, {number, group, t, t});
            const std::int64_t page = sequence.pages[t / page_size];
            const double scale = scales.given() ? element_of(scales, page, group, t % page_size) : 1.0;
            for (std::int64_t d = 0; d < extents[3]; ++d) {
                const double is = scale * element_of(stored, page, group, t % page_size, d);
                const double should_be = exact[static_cast<std::size_t>(d)];
                const double error = std::fabs(is - should_be) / storage_error(stored.type, should_be, scale);
                worst = std::isnan(error) ? infinity : std::max(worst, error);
                rows(0, group, t, d) = static_cast<float>(is);
            }
        }
    }
    return worst;
}

/// Fills a cache by two calls, the second of which appends the new tokens, and attends to it.
template <class Inputs>
void verify_cached(const attention_kernel<Inputs> &kernel, const cached_case &of, const inputs_or_none<Inputs> &inputs,
                   const semantics &meaning) {
    const variant_description &variant = kernel.description();
    std::vector<problem> problems;
    std::int64_t pages = 0;
    for (const sequence_sizes &sizes : of.sequences) {
        problems.emplace_back(variant, lengths{sizes.new_tokens, sizes.length, 1});
        pages += (sizes.length + of.page_size - 1) / of.page_size;
    }
    std::vector<const tensor<float, 4> *> queries, keys, values;
    for (const problem &each : problems) {
        queries.push_back(&each.query);
        keys.push_back(&each.key);
        values.push_back(&each.value);
    }
    for (const kernel_choice &which : kernels_of(variant, "cached")) {
        INFO(std::string(variant.name), ", ", which.text(), ", ", name_of(of.type), ", pages of ", of.page_size,
             ", HEED_TEST_SEED=", seed());
        key_value_cache cache(variant, {of.type, pages + 1, of.page_size, 2});
        const cache_tensors tensors = cache.tensors(1);
        for (const output_tensor &part : {tensors.key, tensors.value, tensors.key_scale, tensors.value_scale})
            poison(part);
        std::vector<int> numbers;
        for (std::size_t i = 0; i < problems.size(); ++i) numbers.push_back(cache.add());
        for (const bool is_new : {false, true}) {
            std::vector<std::int64_t> first, count;
            std::vector<cached_sequence> sequences;
            for (const sequence_sizes &sizes : of.sequences) {
                first.push_back(is_new ? sizes.length - sizes.new_tokens : 0);
                count.push_back(is_new ? sizes.new_tokens : sizes.length - sizes.new_tokens);
            }
            // A few tokens at a time, so that the pages of sequences lie between each other.
            for (std::int64_t given = 0, step = 5; given < 10'000; given += step) {
                for (std::size_t i = 0; i < numbers.size(); ++i) {
                    cache.extend(numbers[i], std::clamp<std::int64_t>(count[i] - given, 0, step));
                }
            }
            for (std::size_t i = 0; i < numbers.size(); ++i) sequences.push_back(cache.view(numbers[i], count[i]));
            append_to(kernel, rows_of(keys, first, count), rows_of(values, first, count), tensors, sequences, inputs,
                      {{}, is_new ? 1 : 3, which.isa});
        }
        std::vector<std::int64_t> zeros(problems.size(), 0), count;
        std::vector<cached_sequence> sequences;
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            count.push_back(of.sequences[i].new_tokens);
            sequences.push_back(cache.view(numbers[i], count[i]));
        }
        const tensor<float, 4> query = rows_of(queries, zeros, count);
        const std::int64_t tokens = query.extents()[2];
        const bool is_softmax = variant.readings.weight_of_score == nullptr;
        tensor<float, 4> output({1, variant.heads, tokens, variant.value_dim}), again(output.extents());
        tensor<float, 3> log_sum_exp({1, variant.heads, tokens});
        attend_to(kernel, query, tensors, sequences, output, inputs,
                  {is_softmax ? log_sum_exp.view() : view<float, 3>(), 1, which.isa, which.schedule});
        attend_to(kernel, query, tensors, sequences, again, inputs, {{}, 3, which.isa, which.schedule});
        CHECK(same_bits(output, again));
        CHECK(output.untouched());
        CHECK(log_sum_exp.untouched());

        std::int64_t row = 0;
        for (std::size_t i = 0; i < problems.size(); ++i) {
            INFO("sequence ", i, " of length ", of.sequences[i].length, " with ", count[i], " new tokens");
            const auto number = static_cast<std::int64_t>(i);
            semantics one = of_sequence(meaning, number);
            problem stored = problems[i];
            CHECK(take_stored(stored.key, tensors.key, tensors.key_scale, meaning.modify_key, sequences[i], number,
                              of.page_size) <= 1);
            CHECK(take_stored(stored.value, tensors.value, tensors.value_scale, meaning.modify_value, sequences[i],
                              number, of.page_size) <= 1);
            one.modify_key = one.modify_value = nullptr;
            const reference expected = attention(stored, one);
            results got(stored);
            for_each_index<4>(got.output.extents(),
                              [&](const auto &at) { got.output[at] = output(0, at[1], row + at[2], at[3]); });
            for_each_index<3>(got.log_sum_exp.extents(),
                              [&](const auto &at) { got.log_sum_exp[at] = log_sum_exp(0, at[1], row + at[2]); });
            row += count[i];
            const double bound = std::min(allowed_error * std::max(1.0, expected.largest_score / 8), 1e-2);
            const difference found = compare(got.output, expected.output, 1e-30);
            CHECK_MESSAGE(found.largest <= bound, "output: ", found.where);
            if (!is_softmax) continue;
            const difference sums = compare(got.log_sum_exp, expected.log_sum_exp, 1);
            CHECK_MESSAGE(sums.largest <= allowed_error, "log_sum_exp: ", sums.where);
        }
    }
}

inline void verify_cached(const attention_kernel<void> &kernel, const cached_case &of, const semantics &meaning = {}) {
    verify_cached(kernel, of, no_inputs{}, meaning);
}

}  // namespace heed::tests
