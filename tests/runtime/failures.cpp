// SPDX-License-Identifier: MIT
//
// Failures inside a kernel reach the caller; Halide's print-and-abort never does.

#include <doctest/doctest.h>

#include <string>

#include "fake_control.hpp"
#include "problem.hpp"

namespace {

template <typename Error>
std::string thrown(problem &p, const heed::call_options &options = {}) {
    try {
        models::mha(p.query, p.key, p.value, p.output, options);
    } catch (const Error &error) {
        return error.what();
    }
    return "nothing was thrown";
}

}  // namespace

TEST_CASE("a task reports an error") {
    const control_scope scope;
    problem p = problem::mha(4, 3, 3);
    for (const int threads : {1, 2, 4}) {
        control.error = "Input buffer key is accessed at 7, which is beyond the max (6) in dimension 1\n";
        const char *expected =
            "mha: kernel mha_forward_prefill_f32_x86_64 failed: Input buffer key is accessed at 7, which is beyond the "
            "max (6) in dimension 1";
        CHECK(thrown<heed::kernel_error>(p, {{}, threads, "x86_64"}) == expected);
        const heed::status status = models::mha.try_run(p.query, p.key, p.value, p.output, {{}, threads, "x86_64"});
        CHECK(status.code() == heed::status_code::kernel_failed);
        CHECK(status.message() == expected);

        control.error = nullptr;
        models::mha(p.query, p.key, p.value, p.output, {{}, threads});
        CHECK(p.error(false) < 1e-6);
    }
}

TEST_CASE("a kernel returns an error without a text") {
    const control_scope scope;
    problem p = problem::mha(1, 3, 3);
    control.result = -17;
    CHECK(thrown<heed::kernel_error>(p, {{}, 1, "x86_64"}) ==
          "mha: kernel mha_forward_prefill_f32_x86_64 failed: it returned -17");
    CHECK(p.nothing_written());
}

TEST_CASE("no memory") {
    const control_scope scope;
    problem p = problem::mha(1, 3, 3);
    control.scratch_bytes = std::size_t{1} << 60;
    CHECK(thrown<heed::out_of_memory_error>(p, {{}, 2, "x86_64"}) ==
          "mha: no memory for 1152921504606846976 bytes of scratch space in kernel mha_forward_prefill_f32_x86_64");
    const heed::status status = models::mha.try_run(p.query, p.key, p.value, p.output);
    CHECK(status.code() == heed::status_code::out_of_memory);
    CHECK(p.nothing_written());
}

TEST_CASE("a kernel that fails by its own check is reported") {
    const control_scope scope;
    problem p = problem::local_capped(2, 3, 5);
    control.result = -17;
    const heed::status status =
        models::local_capped.try_run(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp, 1, "x86_64"});
    CHECK(status.code() == heed::status_code::kernel_failed);
    CHECK(status.message() == "local_capped: kernel local_capped_forward_prefill_f32_x86_64 failed: it returned -17");
    CHECK(p.nothing_written());
}

TEST_CASE("one family of exceptions") {
    const control_scope scope;
    problem p = problem::mha(1, 3, 3);
    CHECK_THROWS_AS(models::mha({}, p.key, p.value, p.output), heed::error);
    CHECK_THROWS_AS(models::mha(p.query, p.key, p.value, p.output, {{}, 0, "none"}), heed::error);
    control.result = 1;
    CHECK_THROWS_AS(models::mha(p.query, p.key, p.value, p.output), heed::error);
    CHECK_THROWS_AS(models::mha(p.query, p.key, p.value, p.output), std::runtime_error);
}
