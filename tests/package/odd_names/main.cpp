// SPDX-License-Identifier: MIT
#include "odd_kernels.hpp"

#include <cstdio>

int main() {
    const float query[4] = {1, 2, 3, 4}, key[4] = {1, 0, 0, 0}, value[4] = {5, 6, 7, 8}, bias[1] = {2};
    float output[4] = {};
    const heed::view<const float, 4> q{query, {1, 1, 1, 4}}, k{key, {1, 1, 1, 4}}, v{value, {1, 1, 1, 4}};
    const heed::view<float, 4> o{output, {1, 1, 1, 4}};
    app::heed::view(q, k, v, o, {heed::view<const float, 1>{bias, {1}}});
    const float with_bias = output[2];
    app::heed::view_inputs(q, k, v, o);
    std::printf("%g %g\n", static_cast<double>(with_bias), static_cast<double>(output[3]));
    return with_bias == 7 && output[3] == 8 ? 0 : 1;
}
