// SPDX-License-Identifier: MIT
//
// What the generator writes for a kernel library, by hand: see the comment at the top of heed/call.hpp. The kernels are
// written in C++ and reach Halide's runtime by the same functions as compiled ones.
#pragma once

#include <heed/call.hpp>

extern const heed::kernel_library fake_kernels;
extern const heed::variant_description fake_kernels_variants[2];

namespace models {

struct local_capped_inputs {
    heed::view<const float, 1> sinks = {};
    heed::view<const std::int32_t, 2> documents = {};
    heed::scalar<float> temperature = {};
    constexpr auto heed_inputs() const noexcept { return heed::list_inputs(sinks, documents, temperature); }
};
inline constexpr heed::attention_kernel<local_capped_inputs> local_capped{fake_kernels_variants[0]};

inline constexpr heed::attention_kernel<> mha{fake_kernels_variants[1]};

}  // namespace models
