// SPDX-License-Identifier: MIT
//
// The helper that makes a case a few lines: a kernel on every instruction set of this machine against what the test
// says it means.
//
//     TEST_CASE("a window counts the current key") {
//         verify(kernels::window, {100, 130}, {.attends = [](const pair &at) { return causal(at) && in_window(at, 20);
//         }});
//     }
#pragma once

#include "closeness.hpp"
#include "problem.hpp"
#include "readings.hpp"
#include "reference.hpp"

#include <doctest/doctest.h>
#include <heed/call.hpp>
#include <heed/device.hpp>
#include <heed/isa.hpp>

#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

namespace heed::tests {

/// Largest error of a result relative to its largest value.
inline constexpr double allowed_error = 2e-6;

/// What a call gives.
struct results {
    tensor<float, 4> output;
    tensor<float, 3> log_sum_exp;

    explicit results(const problem &of)
        : output({of.batch(), of.heads(), of.q_len(), of.value_dim()}),
          log_sum_exp({of.batch(), of.heads(), of.q_len()}) {}
};

/// Instead of inputs, for kernels that have none.
struct no_inputs {};

template <class Inputs>
using inputs_or_none = std::conditional_t<std::is_void_v<Inputs>, no_inputs, Inputs>;

/// One kernel of a variant, whatever a call would choose.
struct kernel_choice {
    const char *isa, *schedule;

    std::string text() const { return std::string(isa) + ", " + schedule; }
};

/// Those of a pass that this machine can run.
inline std::vector<kernel_choice> kernels_of(const variant_description &variant, const std::string &pass = "forward") {
    std::vector<kernel_choice> choices;
    for (int i = 0; i < variant.kernel_count; ++i) {
        const kernel_description &kernel = variant.kernels[i];
        const bool runs_here =
            kernel.device == device_kind::cpu ? isa_available(kernel.isa) : why_unusable(kernel).empty();
        if (runs_here && pass == kernel.pass) choices.push_back({kernel.isa, kernel.schedule});
    }
    return choices;
}

template <class Inputs>
std::string contradiction_of(const attention_kernel<Inputs> &kernel, const problem &of,
                             const inputs_or_none<Inputs> &inputs, const semantics &meaning) {
    if constexpr (std::is_void_v<Inputs>) {
        return contradiction(kernel.description(), of, nullptr, meaning);
    } else {
        return contradiction(kernel.description(), of, inputs.heed_inputs().data(), meaning);
    }
}

template <class Inputs>
results run(const attention_kernel<Inputs> &kernel, const problem &of, const inputs_or_none<Inputs> &inputs,
            const kernel_choice &which, int threads) {
    results got(of);
    // Weights that are not normalised have no such sum, and calls refuse it.
    const bool is_softmax = kernel.description().readings.weight_of_score == nullptr;
    const call_options options{is_softmax ? got.log_sum_exp.view() : view<float, 3>(), threads, which.isa,
                               which.schedule};
    if constexpr (std::is_void_v<Inputs>) {
        kernel(of.query.view(), of.key.view(), of.value.view(), got.output.view(), options);
    } else {
        kernel(of.query.view(), of.key.view(), of.value.view(), got.output.view(), inputs, options);
    }
    return got;
}

/// Compares the results of every kernel with `meaning`; one and three threads must agree in every bit. The
/// readings in the kernel table must mean the same.
template <class Inputs>
void verify(const attention_kernel<Inputs> &kernel, const problem &of, const inputs_or_none<Inputs> &inputs,
            const semantics &meaning) {
    const variant_description &variant = kernel.description();
    const reference expected = attention(of, meaning);
    // An error of a score is one of its weight, and scores of 100 have errors of 1e-5 in single precision.
    const double bound = std::min(allowed_error * std::max(1.0, expected.largest_score / 8), 1e-2);
    CHECK(contradiction_of(kernel, of, inputs, meaning) == "");
    for (const kernel_choice &which : kernels_of(variant)) {
        INFO(std::string(variant.name), ", ", which.text(), ", batch ", of.batch(), ", q_len ", of.q_len(), ", kv_len ",
             of.kv_len(), ", HEED_TEST_SEED=", seed());
        const results got = run(kernel, of, inputs, which, 1);
        const difference output = compare(got.output, expected.output, 1e-30);
        const difference log_sum_exp =
            meaning.weight ? difference() : compare(got.log_sum_exp, expected.log_sum_exp, 1);
        CHECK_MESSAGE(output.largest <= bound, "output: ", output.where);
        CHECK_MESSAGE(log_sum_exp.largest <= allowed_error, "log_sum_exp: ", log_sum_exp.where);
        CHECK(got.output.untouched());
        CHECK(got.log_sum_exp.untouched());
        const results again = run(kernel, of, inputs, which, 3);
        CHECK(same_bits(got.output, again.output));
        CHECK(same_bits(got.log_sum_exp, again.log_sum_exp));
    }
}

inline void verify(const attention_kernel<void> &kernel, const problem &of, const semantics &meaning = {}) {
    verify(kernel, of, no_inputs{}, meaning);
}

// The same on random tensors.

template <class Inputs>
void verify(const attention_kernel<Inputs> &kernel, const lengths &sizes, const inputs_or_none<Inputs> &inputs,
            const semantics &meaning) {
    verify(kernel, problem(kernel.description(), sizes), inputs, meaning);
}

inline void verify(const attention_kernel<void> &kernel, const lengths &sizes, const semantics &meaning = {}) {
    verify(kernel, problem(kernel.description(), sizes), no_inputs{}, meaning);
}

}  // namespace heed::tests
