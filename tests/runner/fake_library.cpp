// SPDX-License-Identifier: MIT
#include "fake_library.hpp"

#include <HalideRuntime.h>
#include <numeric>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

namespace fakes {

namespace {

using namespace heed;

constexpr int query_tile = 8, key_tile = 12;
constexpr double infinity = std::numeric_limits<double>::infinity();

bool always(const call_sizes &sizes, const pair_position &pair, const input_reader &) {
    return pair.kv_pos < sizes.kv_len;
}
bool causal(const call_sizes &sizes, const pair_position &pair, const input_reader &reader) {
    return always(sizes, pair, reader) && pair.kv_pos <= pair.q_pos;
}
bool padded(const call_sizes &sizes, const pair_position &pair, const input_reader &reader) {
    return always(sizes, pair, reader) &&
           static_cast<double>(pair.kv_pos) < reader.read(reader.context, 0, &pair.batch);
}
bool scattered(const call_sizes &sizes, const pair_position &pair, const input_reader &reader) {
    return always(sizes, pair, reader) && (pair.kv_pos * 7 + pair.q_pos * 5 + 100000) % 3 != 0;
}

double same_score(const call_sizes &, const pair_position &, double score, const input_reader &) { return score; }
double biased_score(const call_sizes &, const pair_position &pair, double score, const input_reader &reader) {
    const std::int64_t indices[] = {pair.head, pair.kv_pos};
    return score + reader.read(reader.context, 0, nullptr) * reader.read(reader.context, 1, indices);
}

double sink(const call_sizes &, std::int64_t, std::int64_t head, const input_reader &reader) {
    return reader.read(reader.context, 1, &head);
}

std::int64_t bottom_right(const call_sizes &sizes, std::int64_t, const input_reader &) {
    return sizes.kv_len - sizes.q_len;
}

index_range no_index(const call_sizes &, int, int) { return {0, 0, false}; }
index_range padded_index(const call_sizes &sizes, int input, int) {
    return {0, (input == 0 ? sizes.batch : 2) - 1, true};
}
index_range biased_index(const call_sizes &sizes, int, int dimension) {
    return {0, (dimension == 0 ? 2 : sizes.kv_len) - 1, true};
}

tile_class class_full(const call_sizes &, const tile_bounds &, const input_reader &) { return tile_class::full; }
tile_class class_mixed(const call_sizes &, const tile_bounds &, const input_reader &) { return tile_class::mixed; }
tile_class class_causal(const call_sizes &sizes, const tile_bounds &tile, const input_reader &) {
    const std::int64_t start = sizes.kv_len - sizes.q_len;
    if (tile.first_key > start + tile.first_row + tile.row_count - 1) return tile_class::empty;
    return tile.first_key + tile.key_count - 1 <= start + tile.first_row ? tile_class::full : tile_class::mixed;
}
tile_class class_padded(const call_sizes &, const tile_bounds &tile, const input_reader &reader) {
    const double length = reader.read(reader.context, 0, &tile.batch);
    if (static_cast<double>(tile.first_key) >= length) return tile_class::empty;
    return static_cast<double>(tile.first_key + tile.key_count) <= length ? tile_class::full : tile_class::mixed;
}

const input_description padded_inputs[] = {{"kv_len", data_type::i32, 1}, {"sinks", data_type::f32, 1}};
const input_description biased_inputs[] = {{"strength", data_type::f32, 0}, {"bias", data_type::f32, 2}};

const variant_readings plain_readings{always, same_score, nullptr, bottom_right, no_index, class_full};
const variant_readings causal_readings{causal, same_score, nullptr, bottom_right, no_index, class_causal};
const variant_readings padded_readings{padded, same_score, sink, bottom_right, padded_index, class_padded};
const variant_readings biased_readings{scattered, biased_score, nullptr, bottom_right, biased_index, class_mixed};

struct sizes_of_variant {
    int heads, groups, head_dim, value_dim;
    const variant_readings *readings;
    const input_description *inputs;
    int input_count;
};

constexpr int variant_count = 4;
const char *const names[variant_count] = {"plain", "causal", "padded", "biased"};
const char *const formulas[variant_count] = {
    "heads = 2, head_dim = 8", "heads = 4, groups = 2, head_dim = 16\nmask = q_pos >= kv_pos",
    "heads = 2, head_dim = 8\nmask = kv_pos < input<\"kv_len\", i32>[batch]\nsink_logit = input<\"sinks\">[head]",
    ("heads = 2, head_dim = 6, value_dim = 5\nmask = (kv_pos * 7 + q_pos * 5 + 100000) % 3 != 0\n"
     "score_mod = score + input<\"strength\">() * input<\"bias\">(head, kv_pos)")};
constexpr sizes_of_variant shapes[variant_count] = {{2, 2, 8, 8, &plain_readings, nullptr, 0},
                                                    {4, 2, 16, 16, &causal_readings, nullptr, 0},
                                                    {2, 2, 8, 8, &padded_readings, padded_inputs, 2},
                                                    {2, 2, 6, 5, &biased_readings, biased_inputs, 2}};

double scale_of(const sizes_of_variant &shape) { return 1.0 / std::sqrt(static_cast<double>(shape.head_dim)); }

// Address of an element of a Halide buffer: `host` is that of the smallest indices.
float *at(const halide_buffer_t *buffer, std::initializer_list<std::int64_t> indices) {
    std::int64_t offset = 0;
    int i = 0;
    for (const std::int64_t index : indices) {
        offset += (index - buffer->dim[i].min) * buffer->dim[i].stride;
        ++i;
    }
    return reinterpret_cast<float *>(buffer->host) + offset;
}

struct argument_reader {
    void *const *arguments;
    const input_description *inputs;

    static double read(const void *context, int input, const std::int64_t *indices) {
        const auto &self = *static_cast<const argument_reader *>(context);
        const input_description &description = self.inputs[input];
        const bool reals = description.type == data_type::f32;
        if (description.rank == 0) {
            const void *value = self.arguments[input];
            return reals ? static_cast<double>(*static_cast<const float *>(value))
                         : *static_cast<const std::int32_t *>(value);
        }
        const auto *buffer = static_cast<const halide_buffer_t *>(self.arguments[input]);
        std::int64_t offset = 0;
        for (int i = 0; i < description.rank; ++i)
            offset += (indices[description.rank - 1 - i] - buffer->dim[i].min) * buffer->dim[i].stride;
        return reals ? static_cast<double>(reinterpret_cast<const float *>(buffer->host)[offset])
                     : reinterpret_cast<const std::int32_t *>(buffer->host)[offset];
    }
};

template <int Variant, mistake What, bool Weights>
int run_fake(void **arguments) {
    if (What == mistake::reports_error) return -1;
    const sizes_of_variant &shape = shapes[Variant];
    const auto *query = static_cast<const halide_buffer_t *>(arguments[1]);
    const auto *key = static_cast<const halide_buffer_t *>(arguments[2]);
    const auto *value = Weights ? nullptr : static_cast<const halide_buffer_t *>(arguments[3]);
    void **inputs = arguments + (Weights ? 3 : 4), **tail = inputs + shape.input_count;
    const std::int64_t q_len = *static_cast<const std::int32_t *>(tail[0]),
                       kv_len = *static_cast<const std::int32_t *>(tail[1]);
    const auto *output = static_cast<const halide_buffer_t *>(tail[2]);
    const auto *log_sum_exp = static_cast<const halide_buffer_t *>(tail[3]);

    const argument_reader context{inputs, shape.inputs};
    const input_reader reader{argument_reader::read, &context};
    const std::int64_t shared = shape.heads / shape.groups;
    const halide_dimension_t groups = query->dim[3], batches = query->dim[4];
    const call_sizes sizes{batches.min + batches.extent, q_len, kv_len};
    std::int64_t keys = kv_len;
    if (What == mistake::forgets_last_key && kv_len > key_tile) --keys;
    const double factor = What == mistake::imprecise ? 1.0 + 1e-5 : 1.0;

    for (std::int64_t b = batches.min; b < batches.min + batches.extent; ++b)
        for (std::int64_t g = groups.min; g < groups.min + groups.extent; ++g)
            for (std::int64_t h = 0; h < shared; ++h)
                for (std::int64_t i = 0; i < q_len - (What == mistake::skips_row ? 1 : 0); ++i) {
                    const std::int64_t start = shape.readings->query_start(sizes, b, reader);
                    std::vector<double> scores(static_cast<std::size_t>(keys), -infinity);
                    double largest = -infinity;
                    for (std::int64_t k = 0; k < keys; ++k) {
                        const pair_position pair{b, g * shared + h, start + i, k};
                        double product = 0.0;
                        for (int d = 0; d < shape.head_dim; ++d)
                            product += static_cast<double>(*at(query, {d, h, i, g, b})) * *at(key, {d, k, g, b});
                        if (!shape.readings->attends(sizes, pair, reader)) continue;
                        double &score = scores[static_cast<std::size_t>(k)];
                        score = shape.readings->modified_score(sizes, pair, scale_of(shape) * product, reader);
                        largest = std::max(largest, score);
                    }
                    if (What == mistake::reads_past_keys) {
                        const volatile float *past = at(key, {0, kv_len, g, b});
                        (void)*past;
                    }
                    double sum = 0.0;
                    if (largest > -infinity && shape.readings->sink_logit != nullptr) {
                        const double logit = shape.readings->sink_logit(sizes, b, g * shared + h, reader);
                        largest = std::max(largest, logit);
                        sum = std::exp(logit - largest);
                    }
                    // Of the weights pass: the weights themselves.
                    const std::int64_t columns = Weights ? keys : shape.value_dim;
                    std::vector<double> totals(static_cast<std::size_t>(columns), 0.0);
                    for (std::int64_t k = 0; k < keys; ++k) {
                        const double score = scores[static_cast<std::size_t>(k)];
                        if (score == -infinity && What != mistake::multiplies_by_mask) continue;
                        const double weight = score == -infinity ? 0.0 : std::exp(score - largest);
                        sum += weight;
                        if (Weights) {
                            totals[static_cast<std::size_t>(k)] = weight * (1.0 + 0.0 * *at(key, {0, k, g, b}));
                            continue;
                        }
                        for (int d = 0; d < shape.value_dim; ++d)
                            totals[static_cast<std::size_t>(d)] += weight * *at(value, {d, k, g, b});
                    }
                    for (std::int64_t d = 0; d < columns; ++d)
                        *at(output, {d, h, i, g, b}) = static_cast<float>(
                            sum > 0.0 || std::isnan(sum)          ? factor * totals[static_cast<std::size_t>(d)] / sum
                            : What == mistake::multiplies_by_mask ? totals[static_cast<std::size_t>(d)]
                                                                  : 0.0);
                    for (std::int64_t k = 0; Weights && k < keys; ++k) {
                        const bool hidden = scores[static_cast<std::size_t>(k)] == -infinity;
                        // Also beside a NaN that the row sees.
                        if (hidden && What != mistake::multiplies_by_mask) *at(output, {k, h, i, g, b}) = 0.0f;
                        if (What == mistake::leaves_hidden_weights && hidden) *at(output, {k, h, i, g, b}) = 1e-30f;
                        if (What == mistake::adds_to_weights && !hidden) *at(output, {k, h, i, g, b}) += 1e-6f;
                    }
                    if (What == mistake::writes_past_row) *at(output, {columns, h, i, g, b}) = 0.0f;
                    if (What == mistake::writes_between_rows && output->dim[2].stride > output->dim[0].extent &&
                        output->dim[2].stride < 2 * output->dim[0].extent)
                        *at(output, {columns, h, i, g, b}) = 0.0f;
                    const double lse = sum == 0.0 ? -infinity : std::log(sum) + largest;
                    *at(log_sum_exp, {h, i, g, b}) =
                        static_cast<float>(What == mistake::wrong_log_sum_exp ? lse / std::log(2.0) : lse);
                }
    return 0;
}

template <int Variant, mistake What>
variant_description describe(int kernel_count) {
    constexpr int heads_per_tile = std::gcd(query_tile, shapes[Variant].heads / shapes[Variant].groups);
    static const kernel_description kernels[] = {
        {"fake_forward_naive_f32_x86_64", "forward", "naive", "x86_64", data_type::f32, query_tile, key_tile,
         heads_per_tile, run_fake<Variant, What, false>},
        {"fake_weights_naive_f32_x86_64", "weights", "naive", "x86_64", data_type::f32, query_tile, key_tile,
         heads_per_tile, run_fake<Variant, What, true>}};
    const sizes_of_variant &shape = shapes[Variant];
    return {names[Variant],  formulas[Variant], shape.heads,       shape.groups, shape.head_dim, shape.value_dim,
            scale_of(shape), shape.inputs,      shape.input_count, kernels,      kernel_count,   *shape.readings};
}

// With 1 kernel of each variant, or with 2: the second is of the pass "weights".
template <mistake What, int Kernels>
const kernel_library &library_with() {
    static const variant_description variants[] = {describe<0, What>(Kernels), describe<1, What>(Kernels),
                                                   describe<2, What>(Kernels), describe<3, What>(Kernels)};
    static const kernel_library result{"fakes", variants, variant_count};
    return result;
}

template <int Kernels>
const kernel_library &library_of(mistake what) {
    switch (what) {
        case mistake::none:
            return library_with<mistake::none, Kernels>();
        case mistake::forgets_last_key:
            return library_with<mistake::forgets_last_key, Kernels>();
        case mistake::multiplies_by_mask:
            return library_with<mistake::multiplies_by_mask, Kernels>();
        case mistake::writes_past_row:
            return library_with<mistake::writes_past_row, Kernels>();
        case mistake::writes_between_rows:
            return library_with<mistake::writes_between_rows, Kernels>();
        case mistake::reads_past_keys:
            return library_with<mistake::reads_past_keys, Kernels>();
        case mistake::wrong_log_sum_exp:
            return library_with<mistake::wrong_log_sum_exp, Kernels>();
        case mistake::skips_row:
            return library_with<mistake::skips_row, Kernels>();
        case mistake::imprecise:
            return library_with<mistake::imprecise, Kernels>();
        case mistake::reports_error:
            return library_with<mistake::reports_error, Kernels>();
        case mistake::leaves_hidden_weights:
            return library_with<mistake::leaves_hidden_weights, Kernels>();
        case mistake::adds_to_weights:
            return library_with<mistake::adds_to_weights, Kernels>();
    }
    return library_with<mistake::none, Kernels>();
}

}  // namespace

const kernel_library &library(mistake what) { return library_of<1>(what); }

const kernel_library &library_with_weights(mistake what) { return library_of<2>(what); }

}  // namespace fakes
