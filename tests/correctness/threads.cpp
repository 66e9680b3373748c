// SPDX-License-Identifier: MIT
//
// The same bits for any number of threads, on every run, and from several threads at once.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <atomic>
#include <functional>
#include <thread>

using namespace heed::tests;

TEST_CASE("the same bits for any number of threads, again and again") {
    const problem of(kernels::dim_40.description(), {200, 400, 3});
    for (const kernel_choice &which : kernels_of(kernels::dim_40.description())) {
        const results expected = run(kernels::dim_40, of, {}, which, 1);
        for (int repetition = 0; repetition < 5; ++repetition) {
            for (const int threads : {1, 2, 4, 7}) {
                const results got = run(kernels::dim_40, of, {}, which, threads);
                CHECK(same_bits(got.output, expected.output));
                CHECK(same_bits(got.log_sum_exp, expected.log_sum_exp));
            }
        }
    }
}

TEST_CASE("a row has the same bits whatever other rows and batches there are") {
    const problem all(kernels::dense.description(), {130, 300, 2});
    problem alone(kernels::dense.description(), {130, 300, 1});
    for_each_index<4>(alone.query.extents(),
                      [&](const auto &at) { alone.query[at] = all.query(1, at[1], at[2], at[3]); });
    for_each_index<4>(alone.key.extents(), [&](const auto &at) {
        alone.key[at] = all.key(1, at[1], at[2], at[3]);
        alone.value[at] = all.value(1, at[1], at[2], at[3]);
    });
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const results together = run(kernels::dense, all, {}, which, 2),
                      by_itself = run(kernels::dense, alone, {}, which, 2);
        bool same = true;
        for_each_index<4>(alone.query.extents(), [&](const auto &at) {
            same = same && by_itself.output[at] == together.output(1, at[1], at[2], at[3]);
        });
        CHECK(same);
    }
}

TEST_CASE("several threads call kernels at once") {
    const problem dense(kernels::dense.description(), {100, 300}), grouped(kernels::dim_31.description(), {90, 200}),
        causal_one(kernels::dim_1.description(), {150, 150});
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const std::function<results(int)> calls[] = {
            [&](int threads) { return run(kernels::dense, dense, {}, which, threads); },
            [&](int threads) { return run(kernels::dim_31, grouped, {}, which, threads); },
            [&](int threads) { return run(kernels::dim_1, causal_one, {}, which, threads); }};
        std::atomic<int> wrong = 0;
        std::vector<std::thread> callers;
        for (int caller = 0; caller < 6; ++caller) {
            callers.emplace_back([&, caller] {
                const auto &call = calls[caller % 3];
                try {
                    const results expected = call(1);
                    for (int repetition = 0; repetition < 20; ++repetition) {
                        const results got = call(1 + (caller + repetition) % 4);
                        if (!same_bits(got.output, expected.output)) ++wrong;
                        if (!same_bits(got.log_sum_exp, expected.log_sum_exp)) ++wrong;
                    }
                } catch (const heed::error &) {
                    ++wrong;
                }
            });
        }
        for (std::thread &caller : callers) caller.join();
        CHECK(wrong == 0);
    }
}
