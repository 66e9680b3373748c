// SPDX-License-Identifier: MIT
#include "problem.hpp"

#include <heed/float16.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "random.hpp"

namespace heed::runner {

namespace {

constexpr std::uint32_t untouched_bits = 0x7fd1ce5eu;

void fill_normal(const tensor &target, float scale, std::uint64_t seed) {
    random_source random(seed);
    const auto &extents = target.shape.extents;
    for (std::int64_t b = 0; b < extents[0]; ++b)
        for (std::int64_t h = 0; h < extents[1]; ++h)
            for (std::int64_t i = 0; i < extents[2]; ++i) {
                float *row = target.row(b, h, i);
                for (std::int64_t d = 0; d < extents[3]; ++d) row[d] = scale * random.normal();
            }
}

// Only the first element of a query counts, so that a score is known to one rounding: an integer near -2^17.
void fill_far_scores(const problem &of, std::uint64_t seed) {
    random_source random(seed);
    const float query = static_cast<float>(-1.0 / of.variant->scale);
    for (std::int64_t b = 0; b < of.sizes.batch; ++b) {
        for (std::int64_t h = 0; h < of.variant->heads; ++h)
            for (std::int64_t i = 0; i < of.sizes.q_len; ++i) {
                std::fill_n(of.query.row(b, h, i), of.variant->head_dim, 0.0f);
                of.query.row(b, h, i)[0] = query;
            }
        for (std::int64_t g = 0; g < of.variant->groups; ++g)
            for (std::int64_t k = 0; k < of.sizes.kv_len; ++k)
                of.key.row(b, g, k)[0] = static_cast<float>((1 << 17) + random.integer(0, 3));
    }
}

// A row that whole numbers from -127 to 127 times a scale make up: one of them is the largest.
void make_whole_numbers(float *row, std::int64_t count, std::int64_t number) {
    constexpr float scale = 1.0f / 32;
    for (std::int64_t d = 0; d < count; ++d) row[d] = scale * std::clamp(std::round(row[d] / scale), -127.0f, 127.0f);
    row[number % count] = 127 * scale;
}

void round_to(const tensor &target, data_type type) {
    if (type == data_type::f32) return;
    const auto &extents = target.shape.extents;
    if (type == data_type::i8) {
        for (std::int64_t b = 0; b < extents[0]; ++b)
            for (std::int64_t h = 0; h < extents[1]; ++h)
                for (std::int64_t i = 0; i < extents[2]; ++i)
                    make_whole_numbers(target.row(b, h, i), extents[3], b + h + i);
        return;
    }
    for (std::int64_t b = 0; b < extents[0]; ++b)
        for (std::int64_t h = 0; h < extents[1]; ++h)
            for (std::int64_t i = 0; i < extents[2]; ++i)
                for (std::int64_t d = 0; d < extents[3]; ++d) {
                    float &value = target.row(b, h, i)[d];
                    value = type == data_type::f16 ? float{float16(value)} : float{bfloat16(value)};
                }
}

// Rows of one buffer: the parts side by side, each (batch, heads, length, dim) with the buffer's strides.
void pack(std::initializer_list<tensor *> parts) {
    std::int64_t row_width = 0;
    for (const tensor *part : parts) row_width += part->shape.extents[1] * part->shape.extents[3];
    const auto &common = (*parts.begin())->shape.extents;
    const std::int64_t count = common[0] * common[2] * row_width;
    auto memory = std::make_shared<guarded_memory>(static_cast<std::size_t>(count) * sizeof(float));
    std::int64_t offset = 0;
    for (tensor *part : parts) {
        const auto &extents = part->shape.extents;
        part->memory = memory;
        part->first = part->all() + offset;
        part->shape.strides = {extents[2] * row_width, extents[3], row_width, 1};
        offset += extents[1] * extents[3];
    }
}

}  // namespace

void check_memory(const variant_description &variant, const call_sizes &sizes) {
    const auto &[batch, q_len, kv_len] = sizes;
    std::vector<planned_tensor> tensors{{"query", {batch, variant.heads, q_len, variant.head_dim}},
                                        {"key", {batch, variant.groups, kv_len, variant.head_dim}},
                                        {"value", {batch, variant.groups, kv_len, variant.value_dim}},
                                        {"output", {batch, variant.heads, q_len, variant.value_dim}},
                                        {"log_sum_exp", {batch, variant.heads, q_len}}};
    const std::vector<planned_tensor> inputs = planned_inputs(variant, sizes);
    tensors.insert(tensors.end(), inputs.begin(), inputs.end());
    check_memory(fmt::format("{} with batch {}, q_len {}, kv_len {}", variant.name, batch, q_len, kv_len), tensors);
}

problem make_problem(const variant_description &variant, const call_sizes &sizes, const problem_options &options) {
    check_memory(variant, sizes);
    const float gap = std::numeric_limits<float>::quiet_NaN();
    const arrangement query_how = options.how == arrangement::broadcast ? arrangement::row_major
                                  : options.how == arrangement::packed  ? arrangement::length_major
                                                                        : options.how;
    const arrangement key_how = options.how;
    problem result{&variant,
                   sizes,
                   make_tensor({sizes.batch, variant.heads, sizes.q_len, variant.head_dim}, query_how, gap),
                   make_tensor({sizes.batch, variant.groups, sizes.kv_len, variant.head_dim}, key_how, gap),
                   make_tensor({sizes.batch, variant.groups, sizes.kv_len, variant.value_dim}, key_how, gap),
                   input_tables(variant, sizes, options.fill, options.seed + 3, options.settings),
                   options.types,
                   options.page_size};
    if (options.how == arrangement::packed) {
        if (sizes.q_len == sizes.kv_len) {
            pack({&result.query, &result.key, &result.value});
        } else {
            pack({&result.key, &result.value});
        }
    }
    fill_normal(result.query, options.scores == score_kind::peaked ? 100.0f : 1.0f, options.seed);
    fill_normal(result.key, 1.0f, options.seed + 1);
    fill_normal(result.value, 1.0f, options.seed + 2);
    if (options.scores == score_kind::far) fill_far_scores(result, options.seed);
    round_to(result.query, options.types.query);
    round_to(result.key, options.types.key);
    round_to(result.value, options.types.value);
    return result;
}

computed computed_by(const kernel_description &kernel) {
    return std::strcmp(kernel.pass, "weights") == 0 ? computed::weights : computed::output;
}

bool reads_cache(const kernel_description &kernel) { return std::strcmp(kernel.pass, "cached") == 0; }

bool is_called(const kernel_description &kernel) { return std::strcmp(kernel.pass, "append") != 0; }

results make_results(const problem &of, arrangement how, computed what) {
    // Results must not overlap, and nobody packs them.
    if (how == arrangement::packed) how = arrangement::length_major;
    if (how == arrangement::broadcast) how = arrangement::row_major;
    const auto &[batch, q_len, kv_len] = of.sizes;
    const std::int64_t heads = of.variant->heads, columns = what == computed::weights ? kv_len : of.variant->value_dim;
    return {make_tensor({batch, heads, q_len, columns}, how, untouched_pattern()),
            make_tensor({batch, heads, q_len}, arrangement::row_major, untouched_pattern())};
}

float untouched_pattern() {
    float value;
    std::memcpy(&value, &untouched_bits, sizeof(value));
    return value;
}

bool is_untouched(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits == untouched_bits;
}

}  // namespace heed::runner
