// SPDX-License-Identifier: MIT
//
// `verify` must find every mistake that a fake kernel makes, and nothing in kernels without one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "command.hpp"
#include "compare.hpp"
#include "fake_library.hpp"

using fakes::mistake;

namespace {

bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("kernels without a mistake pass") {
    const auto result = run_command(fakes::library(mistake::none), {"verify"});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "4 of 4 kernels are right"));
    CHECK_FALSE(contains(result.out, "FAILED"));
    CHECK(result.err.empty());
}

TEST_CASE("a wrong result fails, and the message has the call and both values") {
    const auto result = run_command(fakes::library(mistake::forgets_last_key), {"verify", "plain"});
    CHECK(result.status == 1);
    CHECK(contains(result.out, "FAILED plain naive x86_64: batch 2, q_len 1, kv_len 13, threads 1"));
    CHECK(contains(result.out, ", expected "));
}

TEST_CASE("an error of 1e-5 is more than the bar allows") {
    CHECK(run_command(fakes::library(mistake::imprecise), {"verify", "causal"}).status == 1);
}

TEST_CASE("errors of a row whose values cancel are relative to these, not to what is left of them") {
    using namespace heed::runner;
    const heed::variant_description &variant = fakes::library(mistake::none).variants[0];
    const problem of = make_problem(variant, {1, 1, 2}, {});
    std::fill_n(of.query.row(0, 0, 0), variant.head_dim, 0.0f);  // both keys weigh as much
    std::fill_n(of.value.row(0, 0, 0), variant.value_dim, 3.0f);
    std::fill_n(of.value.row(0, 0, 1), variant.value_dim, -2.5f);
    const expectation expected = expect(of, {{0, 0, 0}});
    CHECK(expected.largest == doctest::Approx(0.25));
    CHECK(expected.value_magnitude[0] == doctest::Approx(2.75));
    const auto failure_of = [&](float error) {
        const results actual = make_results(of, arrangement::row_major);
        std::fill_n(actual.output.row(0, 0, 0), variant.value_dim, 0.25f + error);
        *actual.log_sum_exp.row(0, 0, 0) = std::log(2.0f);
        return compare(of, actual, expected).failure;
    };
    CHECK(failure_of(5e-6f) == "");
    CHECK(failure_of(6e-6f) != "");
}

TEST_CASE("NaN in a masked key must not reach the result") {
    const auto result = run_command(fakes::library(mistake::multiplies_by_mask), {"verify", "causal", "padded"});
    CHECK(result.status == 1);
    CHECK(contains(result.out, "NaN in a key that some rows see"));
    CHECK(contains(result.out, "NaN and inf in"));
    // Where everything is visible there is nothing to notice.
    CHECK(run_command(fakes::library(mistake::multiplies_by_mask), {"verify", "plain"}).status == 0);
}

TEST_CASE("log_sum_exp is checked, in natural log") {
    const auto result = run_command(fakes::library(mistake::wrong_log_sum_exp), {"verify", "plain"});
    CHECK(result.status == 1);
    CHECK(contains(result.out, "log_sum_exp["));
}

TEST_CASE("elements that were not written are found") {
    const auto result = run_command(fakes::library(mistake::skips_row), {"verify", "plain"});
    CHECK(result.status == 1);
    CHECK(contains(result.out, "was not written"));
}

TEST_CASE("a read past the keys is stopped, and the message has the call") {
    const auto result = run_command(fakes::library(mistake::reads_past_keys), {"verify"});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "read or wrote outside of its tensors"));
    CHECK(contains(result.err, "kv_len 13"));
}

TEST_CASE("a write past the output is stopped") {
    const auto result = run_command(fakes::library(mistake::writes_past_row), {"verify"});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "read or wrote outside of its tensors"));
}

TEST_CASE("a write between the rows of the output is found") {
    const auto result = run_command(fakes::library(mistake::writes_between_rows), {"verify", "plain"});
    CHECK(result.status == 1);
    CHECK(contains(result.out, "is outside of the view, but was written"));
}

TEST_CASE("an error that the kernel reports is a failure with its text") {
    const auto result = run_command(fakes::library(mistake::reports_error), {"verify", "plain", "--quick"});
    CHECK(result.status == 1);
    CHECK(contains(result.out, "the call failed: plain: kernel fake_forward_naive_f32_x86_64 failed"));
}

TEST_CASE("threads and instruction sets can be chosen") {
    CHECK(
        run_command(fakes::library(mistake::none), {"verify", "plain", "--quick", "--threads", "3", "--isa", "x86_64"})
            .status == 0);
    const auto result = run_command(fakes::library(mistake::none), {"verify", "plain", "--isa", "avx9000"});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "plain has no kernel for 'avx9000'; it has: x86_64"));
}

TEST_CASE("kernels of the pass weights are checked as well") {
    const auto result = run_command(fakes::library_with_weights(mistake::none), {"verify"});
    CHECK(result.status == 0);
    CHECK(contains(result.out, "8 of 8 kernels are right"));
    CHECK(contains(result.out, "in f32 (within 2e-06)"));
}

TEST_CASE("mistakes in weights are found") {
    const auto finds = [](mistake what, const std::string &variant, const std::string &text) {
        const auto result = run_command(fakes::library_with_weights(what), {"verify", variant, "--quick"});
        CAPTURE(result.out);
        CHECK(result.status == 1);
        CHECK(contains(result.out, "FAILED " + variant + " weights naive x86_64"));
        CHECK(contains(result.out, text));
    };
    finds(mistake::imprecise, "plain", "weights[");
    finds(mistake::forgets_last_key, "plain", "12] was not written");
    finds(mistake::multiplies_by_mask, "causal", "is nan, expected 0");
    finds(mistake::skips_row, "padded", "was not written");
    finds(mistake::wrong_log_sum_exp, "biased", "log_sum_exp[");
    // Only the pass weights can make these two.
    finds(mistake::leaves_hidden_weights, "causal", "is 1e-30, expected 0");
    finds(mistake::adds_to_weights, "plain", "] sum to 1.0000");
}

TEST_CASE("kernels of the pass cached are checked on caches that those of append have filled") {
    const auto result = run_command(fakes::library_with_cache(mistake::none), {"verify"});
    CAPTURE(result.out);
    // Without calls of more queries than keys, which the runtime would refuse.
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    CHECK(contains(result.out, "4 of 4 kernels are right"));
    CHECK(contains(result.out, " cached "));
    CHECK_FALSE(contains(result.out, " append "));
}

TEST_CASE("mistakes in calls on caches are found") {
    const auto finds = [](mistake what, const std::string &variant, const std::string &text) {
        const auto result = run_command(fakes::library_with_cache(what), {"verify", variant});
        CAPTURE(result.out);
        CAPTURE(result.err);
        CHECK(result.status == 1);
        CHECK(contains(result.out, "FAILED " + variant + " cached naive x86_64"));
        CHECK(contains(result.out, text));
    };
    for (const char *variant : {"plain", "causal", "padded", "biased"}) {
        finds(mistake::swaps_pages, variant, "output[");
        finds(mistake::forgets_place_in_page, variant, "output[");
        finds(mistake::forgets_last_page, variant, "output[");
        finds(mistake::appends_neighbours_row, variant, "output[");
    }
    finds(mistake::takes_first_sequence, "padded", "output[1,");
    finds(mistake::multiplies_by_mask, "causal", "NaN in a key that some rows see");
    finds(mistake::skips_row, "plain", "was not written");
    finds(mistake::wrong_log_sum_exp, "biased", "log_sum_exp[");
    finds(mistake::reports_error, "plain", "the call failed: plain: kernel fake_append_rows_f32_x86_64 failed");
}

TEST_CASE("a kernel on a cache that writes past its rows is stopped") {
    const auto result = run_command(fakes::library_with_cache(mistake::writes_past_row), {"verify"});
    CHECK(result.status == 1);
    CHECK(contains(result.err, "read or wrote outside of its tensors"));
}

TEST_CASE("a storage type of 16 bits has a bar of its own") {
    CHECK(heed::runner::error_bar_of(heed::data_type::f32) == 2e-6);
    CHECK(heed::runner::error_bar_of(heed::data_type::f16) == 2e-6 + 0x1p-11);
    CHECK(heed::runner::error_bar_of(heed::data_type::bf16) == 2e-6 + 0x1p-8);
}
