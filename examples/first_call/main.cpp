// SPDX-License-Identifier: MIT
//
// Calls a generated kernel on tensors of its own, without and with options, and prints a few numbers of the results.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "my_kernels.hpp"

#include <heed/isa.hpp>

int main() {
    const int batch = 2, heads = 16, groups = 4, length = 300, head_dim = 64;
    std::vector<float> q(batch * heads * length * head_dim), k(batch * groups * length * head_dim), v(k.size()), o(q.size());
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = std::sin(0.37f * static_cast<float>(i));
    for (std::size_t i = 0; i < k.size(); ++i) k[i] = std::cos(0.11f * static_cast<float>(i));
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = std::sin(0.05f * static_cast<float>(i));
    std::vector<float> sink_values(heads, 0.5f);

    // Shapes are (batch, heads, length, head_dim); strides follow if memory is laid out otherwise: keys and values here are
    // stored (batch, length, group, dim).
    heed::view<const float, 4> query{q.data(), {batch, heads, length, head_dim}};
    heed::view<const float, 4> key{k.data(), {batch, groups, length, head_dim}, {length * groups * head_dim, head_dim, groups * head_dim, 1}};
    heed::view<const float, 4> value{v.data(), {batch, groups, length, head_dim}, {length * groups * head_dim, head_dim, groups * head_dim, 1}};
    heed::view<float, 4> output{o.data(), {batch, heads, length, head_dim}};
    heed::view<const float, 1> sinks{sink_values.data(), {heads}};

    models::local_capped(query, key, value, output, {sinks});  // checks every argument; throws heed::error

    std::vector<float> first_output = o, lse(batch * heads * length);
    heed::call_options options;
    options.log_sum_exp = {lse.data(), {batch, heads, length}};  // logarithms of the softmax's denominators
    options.threads = 2;
    options.isa = heed::isa_available("avx2") ? "avx2" : nullptr;  // null: the best there is
    models::local_capped(query, key, value, output, {sinks}, options);

    // Both calls say the same, and the first query sees one key and the sink.
    float difference = 0.0f, score = 0.0f;
    for (std::size_t i = 0; i < o.size(); ++i) difference = std::max(difference, std::fabs(o[i] - first_output[i]));
    for (int d = 0; d < head_dim; ++d) score += q[d] * k[d];
    const float capped = 30.0f * std::tanh(score / std::sqrt(static_cast<float>(head_dim)) / 30.0f);
    const float expected = std::log(std::exp(capped) + std::exp(sink_values[0]));

    const heed::status status = models::local_capped.try_run(query, query, value, output, {sinks});
    std::printf("first outputs: %f %f %f\n", first_output[0], first_output[1], first_output[2]);
    std::printf("with options:  differs by %g at most, log-sum-exp %f, expected %f\n", difference, lse[0], expected);
    std::printf("a wrong call:  %s\n", status.message().c_str());
    return difference < 1e-5f && std::fabs(lse[0] - expected) < 1e-5f && !status.ok() ? 0 : 1;
}
