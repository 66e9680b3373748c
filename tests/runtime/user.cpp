// SPDX-License-Identifier: MIT
//
// A user's translation unit: the generated header and one call, in C++17 and in C++20. No header of Halide is in reach.

#include "fake_kernels.hpp"

#ifdef HALIDE_HALIDERUNTIME_H
#error "the public headers must not include Halide"
#endif

heed::status user_call(const float *q, const float *k, const float *v, float *o, const float *sink_values,
                       const std::int32_t *document_values, std::int64_t batch, std::int64_t length) {
    const heed::view<const float, 4> query{q, {batch, 16, length, 4}};
    const heed::view<const float, 4> key{k, {batch, 8, length, 4}, {length * 32, 4, 32, 1}};
    const heed::view<float, 4> value{const_cast<float *>(v), {batch, 8, length, 3}};
    const heed::view<float, 4> output{o, {batch, 16, length, 3}};
    const heed::view<const float, 1> sinks{sink_values, {16}};
    const heed::view<const std::int32_t, 2> documents{document_values, {batch, length}};
#if __cplusplus >= 202002L
    models::local_capped(query, key, value, output, {.sinks = sinks, .documents = documents, .temperature = 1.5f},
                         {.threads = 2});
    return models::local_capped.try_run(query, key, value, output,
                                        {.sinks = sinks, .documents = documents, .temperature = 1.5f});
#else
    models::local_capped(query, key, value, output, {sinks, documents, 1.5f}, {{}, 2});
    return models::local_capped.try_run(query, key, value, output, {sinks, documents, 1.5f});
#endif
}
