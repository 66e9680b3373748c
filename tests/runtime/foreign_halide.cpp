// SPDX-License-Identifier: MIT
//
// Other Halide code in the same process, with other user contexts, keeps the hooks it had.

#include <HalideRuntime.h>
#include <doctest/doctest.h>

#include <atomic>

#include "fake_control.hpp"
#include "problem.hpp"

namespace {

int foreign_context = 0;
std::atomic<int> errors{0}, loops{0}, blocks{0};

void count_error(void *, const char *) { ++errors; }

int count_loop(void *user_context, halide_task_t task, int min, int size, std::uint8_t *closure) {
    ++loops;
    int result = 0;
    for (int i = min; i < min + size && result == 0; ++i) {
        result = task(user_context, i, closure);
    }
    return result;
}

void *count_malloc(void *user_context, std::size_t bytes) {
    ++blocks;
    return halide_default_malloc(user_context, bytes);
}

void count_free(void *user_context, void *block) {
    --blocks;
    halide_default_free(user_context, block);
}

// Before the first call of a kernel installs the hooks of the runtime.
const bool installed = [] {
    halide_set_error_handler(count_error);
    halide_set_custom_do_par_for(count_loop);
    halide_set_custom_malloc(count_malloc);
    halide_set_custom_free(count_free);
    return true;
}();

int foreign_task(void *, int, std::uint8_t *) { return 0; }

void use_halide(void *user_context) {
    halide_error(user_context, "foreign");
    void *block = halide_malloc(user_context, 100);
    if (block != nullptr && blocks > 0 && halide_do_par_for(user_context, foreign_task, 3, 20, nullptr) == 0) {
        halide_free(user_context, block);
    }
}

void reset() { errors = loops = blocks = 0; }

}  // namespace

TEST_CASE("foreign Halide code outside of a call") {
    const control_scope scope;
    REQUIRE(installed);
    problem p = problem::mha(2, 1, 1);
    models::mha(p.query, p.key, p.value, p.output);
    reset();
    for (void *user_context : {static_cast<void *>(nullptr), static_cast<void *>(&foreign_context)}) {
        use_halide(user_context);
    }
    CHECK(errors == 2);
    CHECK(loops == 2);
    CHECK(blocks == 0);
}

TEST_CASE("foreign Halide code within a task of a call") {
    const control_scope scope;
    problem p = problem::mha(2, 1, 1);
    reset();
    control.in_task = [](int) { use_halide(&foreign_context); };
    models::mha(p.query, p.key, p.value, p.output, {{}, 2});
    CHECK(p.error(false) < 1e-6);
    CHECK(errors == 4);
    CHECK(loops == 4);
    CHECK(blocks == 0);
}
