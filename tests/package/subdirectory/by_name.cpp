// SPDX-License-Identifier: MIT
//
// A call in C++20, whose inputs and options have names. All scores are 0, so the results are known.
#include <cmath>
#include <cstdio>
#include <vector>

#include "my_kernels.hpp"

int main() {
    const int heads = 16, groups = 4, length = 20, head_dim = 64;
    std::vector<float> q(heads * length * head_dim, 0.0f), k(groups * length * head_dim, 1.0f), v(k.size(), 1.0f),
        o(q.size());
    std::vector<float> sink_values(heads, 0.0f), l(heads * length);

    const heed::view<const float, 4> query{q.data(), {1, heads, length, head_dim}};
    const heed::view<const float, 4> key{k.data(), {1, groups, length, head_dim}},
        value{v.data(), {1, groups, length, head_dim}};
    const heed::view<float, 4> output{o.data(), {1, heads, length, head_dim}};
    const heed::view<const float, 1> sinks{sink_values.data(), {heads}};
    const heed::view<float, 3> log_sum_exp{l.data(), {1, heads, length}};

    models::local_capped(query, key, value, output, {.sinks = sinks}, {.log_sum_exp = log_sum_exp, .threads = 2});

    // A row sees itself and all before it; the sink is one more in the denominator.
    double worst = 0.0;
    for (int row = 0; row < length; ++row) {
        const double seen = row + 1, denominator = seen + 1;
        for (int head = 0; head < heads; ++head) {
            worst = std::fmax(worst, std::fabs(o[(head * length + row) * head_dim] - seen / denominator));
            worst = std::fmax(worst, std::fabs(l[head * length + row] - std::log(denominator)));
        }
    }
    std::printf("largest error: %g\n", worst);
    return worst < 1e-6 ? 0 : 1;
}
