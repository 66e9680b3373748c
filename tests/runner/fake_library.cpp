// SPDX-License-Identifier: MIT
#include "fake_library.hpp"

#include <HalideRuntime.h>
#include <numeric>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
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

enum class pass { forward, weights, cached };

template <int Variant, mistake What>
int attend(void **arguments, pass which) {
    if (What == mistake::reports_error) return -1;
    const bool makes_weights = which == pass::weights, in_pages = which == pass::cached;
    const sizes_of_variant &shape = shapes[Variant];
    const auto *query = static_cast<const halide_buffer_t *>(arguments[1]);
    const auto *key = static_cast<const halide_buffer_t *>(arguments[2]);
    const auto *value = makes_weights ? nullptr : static_cast<const halide_buffer_t *>(arguments[3]);
    const auto *pages = in_pages ? static_cast<const halide_buffer_t *>(arguments[4]) : nullptr;
    void **inputs = arguments + (makes_weights ? 3 : in_pages ? 5 : 4), **tail = inputs + shape.input_count;
    const std::int64_t q_len = *static_cast<const std::int32_t *>(tail[0]),
                       kv_len = *static_cast<const std::int32_t *>(tail[1]);
    const auto *output = static_cast<const halide_buffer_t *>(tail[2]);
    const auto *log_sum_exp = static_cast<const halide_buffer_t *>(tail[3]);
    if (What == mistake::fails_in_many_pages && in_pages && pages->dim[0].extent > 1) return -1;
    const auto row_of_key = [&](const halide_buffer_t *of, std::int64_t d, std::int64_t k, std::int64_t g,
                                std::int64_t b) {
        if (!in_pages) return at(of, {d, k, g, b});
        const std::int64_t size = of->dim[1].extent, count = pages->dim[0].extent;
        std::int64_t block = k / size;
        if (What == mistake::swaps_pages && count > 1 && block < 2) block = 1 - block;
        const std::int64_t page = *reinterpret_cast<const std::int32_t *>(at(pages, {block}));
        return at(of, {d, What == mistake::forgets_place_in_page ? 0 : k % size, g, page});
    };

    const argument_reader context{inputs, shape.inputs};
    const input_reader reader{argument_reader::read, &context};
    const std::int64_t shared = shape.heads / shape.groups;
    const halide_dimension_t groups = query->dim[3], batches = query->dim[4];
    const call_sizes sizes{batches.min + batches.extent, q_len, kv_len};
    std::int64_t keys = kv_len;
    if (What == mistake::forgets_last_key && kv_len > key_tile) --keys;
    if (What == mistake::forgets_last_page && in_pages && pages->dim[0].extent > 1)
        keys = (pages->dim[0].extent - 1) * std::int64_t{key->dim[1].extent};
    const double factor = What == mistake::imprecise ? 1.0 + 1e-5 : 1.0;

    for (std::int64_t b = batches.min; b < batches.min + batches.extent; ++b)
        for (std::int64_t g = groups.min; g < groups.min + groups.extent; ++g)
            for (std::int64_t h = 0; h < shared; ++h)
                for (std::int64_t i = 0; i < q_len - (What == mistake::skips_row ? 1 : 0); ++i) {
                    const std::int64_t number = What == mistake::takes_first_sequence && in_pages ? 0 : b;
                    const std::int64_t start = shape.readings->query_start(sizes, number, reader);
                    std::vector<double> scores(static_cast<std::size_t>(keys), -infinity);
                    double largest = -infinity;
                    for (std::int64_t k = 0; k < keys; ++k) {
                        const pair_position pair{number, g * shared + h, start + i, k};
                        double product = 0.0;
                        for (int d = 0; d < shape.head_dim; ++d)
                            product += static_cast<double>(*at(query, {d, h, i, g, b})) * *row_of_key(key, d, k, g, b);
                        if (!shape.readings->attends(sizes, pair, reader)) continue;
                        double &score = scores[static_cast<std::size_t>(k)];
                        score = shape.readings->modified_score(sizes, pair, scale_of(shape) * product, reader);
                        largest = std::max(largest, score);
                    }
                    if (What == mistake::reads_past_keys && !in_pages) {
                        const volatile float *past = at(key, {0, kv_len, g, b});
                        (void)*past;
                    }
                    double sum = 0.0;
                    if (largest > -infinity && shape.readings->sink_logit != nullptr) {
                        const double logit = shape.readings->sink_logit(sizes, number, g * shared + h, reader);
                        largest = std::max(largest, logit);
                        sum = std::exp(logit - largest);
                    }
                    // Of the weights pass: the weights themselves.
                    const std::int64_t columns = makes_weights ? keys : shape.value_dim;
                    std::vector<double> totals(static_cast<std::size_t>(columns), 0.0);
                    for (std::int64_t k = 0; k < keys; ++k) {
                        const double score = scores[static_cast<std::size_t>(k)];
                        if (score == -infinity && What != mistake::multiplies_by_mask) continue;
                        const double weight = score == -infinity ? 0.0 : std::exp(score - largest);
                        sum += weight;
                        if (makes_weights) {
                            totals[static_cast<std::size_t>(k)] = weight * (1.0 + 0.0 * *row_of_key(key, 0, k, g, b));
                            continue;
                        }
                        for (int d = 0; d < shape.value_dim; ++d)
                            totals[static_cast<std::size_t>(d)] += weight * *row_of_key(value, d, k, g, b);
                    }
                    for (std::int64_t d = 0; d < columns; ++d)
                        *at(output, {d, h, i, g, b}) = static_cast<float>(
                            sum > 0.0 || std::isnan(sum)          ? factor * totals[static_cast<std::size_t>(d)] / sum
                            : What == mistake::multiplies_by_mask ? totals[static_cast<std::size_t>(d)]
                                                                  : 0.0);
                    for (std::int64_t k = 0; makes_weights && k < keys; ++k) {
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

template <int Variant, mistake What, pass Which>
int run_fake(void **arguments) {
    return attend<Variant, What>(arguments, Which);
}

template <int Variant, mistake What>
int run_append(void **arguments) {
    if (What == mistake::reports_error) return -1;
    for (int i = 0; i < 2; ++i) {
        const auto *from = static_cast<const halide_buffer_t *>(arguments[1 + i]);
        const auto *to = static_cast<const halide_buffer_t *>(arguments[3 + shapes[Variant].input_count + 2 + i]);
        const halide_dimension_t tokens = to->dim[1];
        for (std::int64_t g = 0; g < to->dim[2].extent; ++g)
            for (std::int64_t t = tokens.min; t < tokens.min + tokens.extent; ++t) {
                const bool neighbours = What == mistake::appends_neighbours_row && t == tokens.min + 1;
                for (std::int64_t d = 0; d < to->dim[0].extent; ++d)
                    *at(to, {d, t, g, to->dim[3].min}) = *at(from, {d, neighbours ? t - 1 : t, g, from->dim[3].min});
            }
    }
    return 0;
}

// What kernels the variants of a library have.
enum class contents { forward, forward_and_weights, append_and_cached };

template <int Variant, mistake What>
variant_description describe(contents which) {
    constexpr int heads_per_tile = std::gcd(query_tile, shapes[Variant].heads / shapes[Variant].groups);
    static const kernel_description kernels[] = {
        {"fake_forward_naive_f32_x86_64", "forward", "naive", "x86_64", data_type::f32, query_tile, key_tile,
         heads_per_tile, run_fake<Variant, What, pass::forward>},
        {"fake_weights_naive_f32_x86_64", "weights", "naive", "x86_64", data_type::f32, query_tile, key_tile,
         heads_per_tile, run_fake<Variant, What, pass::weights>},
        {"fake_append_rows_f32_x86_64", "append", "rows", "x86_64", data_type::f32, 1, 1, 1, run_append<Variant, What>},
        {"fake_cached_naive_f32_x86_64", "cached", "naive", "x86_64", data_type::f32, query_tile, key_tile,
         heads_per_tile, run_fake<Variant, What, pass::cached>}};
    const sizes_of_variant &shape = shapes[Variant];
    return {names[Variant],
            formulas[Variant],
            shape.heads,
            shape.groups,
            shape.head_dim,
            shape.value_dim,
            scale_of(shape),
            shape.inputs,
            shape.input_count,
            which == contents::append_and_cached ? kernels + 2 : kernels,
            which == contents::forward ? 1 : 2,
            *shape.readings};
}

template <mistake What, contents Which>
const kernel_library &library_with() {
    static const variant_description variants[] = {describe<0, What>(Which), describe<1, What>(Which),
                                                   describe<2, What>(Which), describe<3, What>(Which)};
    static const kernel_library result{"fakes", variants, variant_count};
    return result;
}

template <contents Which, std::size_t... Mistakes>
const kernel_library &library_of(mistake what, std::index_sequence<Mistakes...>) {
    const kernel_library *const all[] = {&library_with<static_cast<mistake>(Mistakes), Which>()...};
    return *all[static_cast<std::size_t>(what)];
}

using all_mistakes = std::make_index_sequence<static_cast<std::size_t>(mistake::appends_neighbours_row) + 1>;

}  // namespace

const kernel_library &library(mistake what) { return library_of<contents::forward>(what, all_mistakes()); }

library_for_missing_device::library_for_missing_device()
    : kernels{fakes::library(mistake::none).variants[0].kernels[0],
              fakes::library(mistake::none).variants[0].kernels[0]},
      variant(fakes::library(mistake::none).variants[0]),
      library{"fakes", &variant, 1} {
    kernels[1].name = "fake_forward_naive_f32_cuda_990";
    kernels[1].isa = "cuda_990";
    kernels[1].device = device_kind::cuda;
    kernels[1].device_version = 990;
    variant.kernels = kernels;
    variant.kernel_count = 2;
}

const kernel_library &library_with_weights(mistake what) {
    return library_of<contents::forward_and_weights>(what, all_mistakes());
}

const kernel_library &library_with_cache(mistake what) {
    return library_of<contents::append_and_cached>(what, all_mistakes());
}

}  // namespace fakes
