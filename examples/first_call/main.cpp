// SPDX-License-Identifier: MIT
//
// Calls a generated kernel on tensors of its own and prints a few numbers of the result.
#include <cmath>
#include <cstdio>
#include <vector>

#include "my_kernels.hpp"

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

    const heed::status status = models::local_capped.try_run(query, query, value, output, {sinks});
    std::printf("first outputs: %f %f %f\n", o[0], o[1], o[2]);
    std::printf("a wrong call:  %s\n", status.message().c_str());
    return status.ok() ? 1 : 0;
}
