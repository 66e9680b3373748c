// SPDX-License-Identifier: MIT
//
// The kernels compute attention with plain loops over Halide's buffers, one task per query head and batch. The score of
// local_capped is scale * <q, k> * temperature, the mask is causal and "same document", sinks join the denominator.

#include "fake_kernels.hpp"

#include <HalideRuntime.h>

#include <cmath>
#include <limits>

#include "fake_control.hpp"

fake_control control;

void fake_control::reset() {
    error = nullptr;
    result = 0;
    scratch_bytes = 64;
    in_task = nullptr;
    runs = 0;
    isa = nullptr;
}

namespace {

template <typename T>
T &at(const halide_buffer_t *buffer, std::initializer_list<int> position) {
    // 32-bit arithmetic, as in compiled kernels: overflow here is an error that UBSan reports.
    std::int32_t offset = 0;
    int i = 0;
    for (const int p : position) {
        offset += (p - buffer->dim[i].min) * buffer->dim[i].stride;
        ++i;
    }
    return reinterpret_cast<T *>(buffer->host)[offset];
}

struct closure {
    const halide_buffer_t *query, *key, *value, *sinks, *documents;
    float temperature, scale;
    std::int32_t q_len, kv_len;
    const halide_buffer_t *output, *log_sum_exp;
    bool causal;
};

int one_head(void *user_context, int task, std::uint8_t *bytes) {
    const closure &c = *reinterpret_cast<closure *>(bytes);
    if (const auto in_task = control.in_task.load()) {
        in_task(task);
    }
    if (control.error != nullptr) {
        halide_error(user_context, control.error);
        return halide_error_code_generic_error;
    }
    void *scratch = halide_malloc(user_context, control.scratch_bytes);
    if (scratch == nullptr) {
        return halide_error_out_of_memory(user_context);
    }
    static_cast<volatile char *>(scratch)[control.scratch_bytes - 1] = 1;

    const halide_dimension_t *dim = c.output->dim;
    const int in_group = dim[1].min + task % dim[1].extent;
    const int group = dim[3].min + task / dim[1].extent % dim[3].extent;
    const int batch = dim[4].min + task / dim[1].extent / dim[3].extent;
    const int head = group * 2 * (c.sinks != nullptr) + in_group;  // local_capped has two heads per group
    for (int row = 0; row < c.q_len; ++row) {
        const int q_pos = c.kv_len - c.q_len + row;
        double sum = 0, weighted[8] = {};
        if (c.sinks != nullptr) {
            sum += std::exp(double{at<float>(c.sinks, {head})});
        }
        for (int k = 0; k < c.kv_len; ++k) {
            const bool same_document =
                c.documents == nullptr || at<std::int32_t>(c.documents, {k, batch}) ==
                                              at<std::int32_t>(c.documents, {q_pos < 0 ? 0 : q_pos, batch});
            if (!same_document || (c.causal && k > q_pos)) {
                continue;
            }
            double score = 0;
            for (int d = 0; d < c.query->dim[0].extent; ++d) {
                score += double{at<float>(c.query, {d, in_group, row, group, batch})} *
                         at<float>(c.key, {d, k, group, batch});
            }
            const double weight = std::exp(score * c.scale * c.temperature);
            sum += weight;
            for (int d = 0; d < dim[0].extent; ++d) {
                weighted[d] += weight * at<float>(c.value, {d, k, group, batch});
            }
        }
        for (int d = 0; d < dim[0].extent; ++d) {
            at<float>(c.output, {d, in_group, row, group, batch}) = static_cast<float>(sum > 0 ? weighted[d] / sum : 0);
        }
        at<float>(c.log_sum_exp, {in_group, row, group, batch}) =
            static_cast<float>(sum > 0 ? std::log(sum) : -std::numeric_limits<double>::infinity());
    }
    halide_free(user_context, scratch);
    return 0;
}

int run(void **arguments, bool with_inputs, const char *isa) {
    ++control.runs;
    control.isa = isa;
    void *user_context = *static_cast<void **>(arguments[0]);
    const auto buffer = [&](int i) { return static_cast<const halide_buffer_t *>(arguments[i]); };
    closure c{};
    c.query = buffer(1);
    c.key = buffer(2);
    c.value = buffer(3);
    int next = 4;
    c.temperature = 1;
    if (with_inputs) {
        c.sinks = buffer(next++);
        c.documents = buffer(next++);
        c.temperature = *static_cast<float *>(arguments[next++]);
    }
    c.scale = 0.5f;
    c.causal = with_inputs;
    c.q_len = *static_cast<std::int32_t *>(arguments[next++]);
    c.kv_len = *static_cast<std::int32_t *>(arguments[next++]);
    c.output = buffer(next++);
    c.log_sum_exp = buffer(next++);
    for (const halide_buffer_t *b : {c.query, c.key, c.value, c.sinks, c.documents, c.output, c.log_sum_exp}) {
        if (b != nullptr && b->host == nullptr) {
            return -1000;  // compiled kernels take this for a question about sizes and do nothing
        }
    }
    if (control.result != 0) {
        return control.result;
    }
    const halide_dimension_t *dim = c.output->dim;
    return halide_do_par_for(user_context, one_head, 0, dim[1].extent * dim[3].extent * dim[4].extent,
                             reinterpret_cast<std::uint8_t *>(&c));
}

int local_capped_x86_64(void **arguments) { return run(arguments, true, "x86_64"); }
int local_capped_avx2(void **arguments) { return run(arguments, true, "avx2"); }
int mha_avx512(void **arguments) { return run(arguments, false, "avx512"); }
int mha_avx2(void **arguments) { return run(arguments, false, "avx2"); }
int mha_x86_64(void **arguments) { return run(arguments, false, "x86_64"); }

heed::index_range local_capped_index(const heed::call_sizes &sizes, int input, int dimension) {
    if (input == 0) {
        return {0, 15, true};  // sinks[head]
    }
    // documents(batch, q_pos) and documents(batch, kv_pos)
    return dimension == 0 ? heed::index_range{0, sizes.batch - 1, true} : heed::index_range{0, sizes.kv_len - 1, true};
}

constexpr heed::input_description local_capped_arguments[] = {{"sinks", heed::data_type::f32, 1},
                                                              {"documents", heed::data_type::i32, 2},
                                                              {"temperature", heed::data_type::f32, 0}};

constexpr heed::kernel_description local_capped_kernels[] = {
    {"local_capped_forward_prefill_f32_avx2", "forward", "prefill", "avx2", heed::data_type::f32, 8, 8, 1,
     local_capped_avx2},
    {"local_capped_forward_prefill_f32_x86_64", "forward", "prefill", "x86_64", heed::data_type::f32, 8, 8, 1,
     local_capped_x86_64}};

constexpr heed::kernel_description mha_kernels[] = {
    {"mha_forward_prefill_f32_avx512", "forward", "prefill", "avx512", heed::data_type::f32, 8, 8, 1, mha_avx512},
    {"mha_forward_prefill_f32_avx2", "forward", "prefill", "avx2", heed::data_type::f32, 8, 8, 1, mha_avx2},
    {"mha_forward_prefill_f32_x86_64", "forward", "prefill", "x86_64", heed::data_type::f32, 8, 8, 1, mha_x86_64}};

constexpr heed::variant_readings local_capped_readings{nullptr, nullptr, nullptr, nullptr, local_capped_index, nullptr};

}  // namespace

const heed::variant_description fake_kernels_variants[2] = {
    {"local_capped", "heads = 16", 16, 8, 4, 3, 0.5, local_capped_arguments, 3, local_capped_kernels, 2,
     local_capped_readings},
    {"mha", "heads = 2", 2, 2, 4, 4, 0.5, nullptr, 0, mha_kernels, 3, {}},
};

const heed::kernel_library fake_kernels{"fake_kernels", fake_kernels_variants, 2};
