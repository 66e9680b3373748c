// SPDX-License-Identifier: MIT
//
// Calls that must work: every kind of memory layout gives the same answer.

#include <doctest/doctest.h>
#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <list>

#include "fake_control.hpp"
#include "problem.hpp"

namespace {

constexpr double tolerance = 1e-6;

/// Address space that takes memory only where it is touched.
class sparse_memory {
  public:
    explicit sparse_memory(std::int64_t floats)
        : bytes_(static_cast<std::size_t>(floats) * sizeof(float)),
          data_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
        REQUIRE(data_ != MAP_FAILED);
    }
    ~sparse_memory() { munmap(data_, bytes_); }
    sparse_memory(const sparse_memory &) = delete;
    sparse_memory &operator=(const sparse_memory &) = delete;

    float *data() const { return static_cast<float *>(data_); }

  private:
    std::size_t bytes_;
    void *data_;
};

template <int Rank>
void copy(const heed::view<const float, Rank> &from, const heed::view<float, Rank> &to) {
    const auto &extents = from.extents();
    for (std::int64_t a = 0; a < extents[0]; ++a) {
        for (std::int64_t b = 0; b < extents[1]; ++b) {
            for (std::int64_t c = 0; c < extents[2]; ++c) {
                for (std::int64_t d = 0; d < extents[3]; ++d) {
                    element(to, a, b, c, d) = element(from, a, b, c, d);
                }
            }
        }
    }
}

}  // namespace

TEST_CASE("row-major tensors") {
    const control_scope scope;
    for (const auto &[q_len, kv_len] : {std::pair{1, 1}, {5, 7}, {7, 7}, {1, 9}}) {
        problem p = problem::local_capped(2, q_len, kv_len);
        models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
        CHECK(p.error(true, true) < tolerance);
        CHECK(control.runs == 1);
        control.reset();

        problem plain = problem::mha(3, q_len, kv_len);
        models::mha(plain.query, plain.key, plain.value, plain.output);
        CHECK(plain.error(false) < tolerance);
        CHECK(plain.lse[0] == untouched);
        control.reset();
    }
}

TEST_CASE("try_run") {
    problem p = problem::local_capped(1, 2, 3);
    static_assert(noexcept(models::local_capped.try_run(p.query, p.key, p.value, p.output, p.inputs)));
    static_assert(noexcept(models::mha.try_run(p.query, p.key, p.value, p.output)));
    const heed::status status = models::local_capped.try_run(p.query, p.key, p.value, p.output, p.inputs);
    CHECK(status.ok());
    CHECK(static_cast<bool>(status));
    CHECK(status.code() == heed::status_code::ok);
    CHECK(status.message() == "");
    CHECK(p.error(true) < tolerance);
    CHECK(&models::local_capped.description() == &fake_kernels.variants[0]);
}

TEST_CASE("the untyped call without a pass is the forward one") {
    problem p = problem::mha(1, 2, 3);
    heed::call_arguments call;
    call.variant = &fake_kernels.variants[1];
    call.query = heed::as_tensor(p.query);
    call.key = heed::as_tensor(p.key);
    call.value = heed::as_tensor(p.value);
    call.output = heed::as_tensor(p.output);
    call.pass = nullptr;
    CHECK(heed::try_run(call).message() == "");
    CHECK(p.error(false) < tolerance);
}

TEST_CASE("one packed buffer (batch, length, query | key | value, head, dim)") {
    problem p = problem::mha(2, 5, 5);
    const std::int64_t row = 3 * 2 * 4;
    std::vector<float> packed = some_numbers(2 * 5 * row, 7);
    const heed::indices<4> extents{2, 2, 5, 4}, strides{5 * row, 4, row, 1};
    p.query = {packed.data(), extents, strides};
    p.key = {packed.data() + 8, extents, strides};
    p.value = {packed.data() + 16, extents, strides};
    models::mha(p.query, p.key, p.value, p.output);
    CHECK(p.error(false) < tolerance);

    SUBCASE("query is key is value") {
        p.key = p.value = p.query;
        models::mha(p.query, p.key, p.value, p.output);
        CHECK(p.error(false) < tolerance);
    }
    SUBCASE("the output has a place in the packed buffer") {
        std::vector<float> wide = some_numbers(2 * 5 * (row + 8), 8);
        const heed::indices<4> wide_strides{5 * (row + 8), 4, row + 8, 1};
        p.query = {wide.data(), extents, wide_strides};
        p.key = {wide.data() + 8, extents, wide_strides};
        p.value = {wide.data() + 16, extents, wide_strides};
        p.output = {wide.data() + 24, extents, wide_strides};
        models::mha(p.query, p.key, p.value, p.output);
        CHECK(p.error(false) < tolerance);
    }
}

TEST_CASE("broadcast, negative and permuted strides") {
    problem p = problem::local_capped(3, 4, 6);
    p.query = {p.q.data(), {3, 16, 4, 4}, {0, 0, 4, 1}};                                 // one head for all
    p.key = {p.k.data() + 7 * 6 * 4 + 5 * 4, {3, 8, 6, 4}, {8 * 6 * 4, -6 * 4, -4, 1}};  // backwards
    p.value = {p.v.data(), {3, 8, 6, 3}, {3, 0, 0, 1}};
    p.output = {p.o.data() + 3 * 16 * 4 * 3 - 3, {3, 16, 4, 3}, {-3, -3 * 3, -16 * 3 * 3, 1}};
    p.log_sum_exp = {p.lse.data(), {3, 16, 4}, {1, 3, 48}};
    const std::vector<float> reversed(p.sink_values.rbegin(), p.sink_values.rend());
    const std::vector<std::int32_t> document(4, 9);
    p.inputs.sinks = {reversed.data() + 15, {16}, {-1}};
    p.inputs.documents = {document.data(), {3, 6}, {0, 0}};
    models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
    CHECK(p.error(true, true) < tolerance);

    SUBCASE("inputs may be larger than needed and lie far apart") {
        const std::vector<float> wide = some_numbers(40 * 5, 11);
        p.inputs.sinks = {wide.data(), {40}, {5}};
        models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
        CHECK(p.error(true, true) < tolerance);
    }
}

TEST_CASE("strides of dimensions of one element do not matter") {
    problem p = problem::mha(1, 1, 1);
    constexpr std::int64_t far = std::int64_t{1} << 40;
    p.query = {p.q.data(), {1, 2, 1, 4}, {far, 4, -far, 1}};
    p.output = {p.o.data(), {1, 2, 1, 4}, {0, 4, far, 1}};
    models::mha(p.query, p.key, p.value, p.output);
    CHECK(p.error(false) < tolerance);
}

TEST_CASE("tensors that reach beyond 32 bits") {
    const control_scope scope;
    problem p = problem::local_capped(2, 3, 5);
    const std::int64_t far = (std::int64_t{1} << 31) + 12;
    std::list<sparse_memory> memory;
    const auto spread = [&](const heed::view<const float, 4> &from, heed::indices<4> strides) {
        std::int64_t reach = 1, start = 0;
        for (int i = 0; i < 4; ++i) {
            reach += (from.extents()[i] - 1) * std::abs(strides[i]);
            start += strides[i] < 0 ? (from.extents()[i] - 1) * -strides[i] : 0;
        }
        const heed::view<float, 4> to{memory.emplace_back(reach).data() + start, from.extents(), strides};
        copy<4>(from, to);
        return to;
    };
    int runs = 0;

    SUBCASE("between batches: one run per batch") {
        p.key = spread(p.key, {far, 5 * 4, 4, 1});
        runs = 2;
    }
    SUBCASE("between batches, output and log_sum_exp") {
        p.output = spread(p.output, {far, 9, 3, 1});
        p.log_sum_exp = {memory.emplace_back(2 * far).data(), {2, 16, 3}, {-far, 3, 1}};
        p.log_sum_exp = {p.log_sum_exp.data() + far, p.log_sum_exp.extents(), p.log_sum_exp.strides()};
        runs = 2;
    }
    SUBCASE("between groups: one run per batch and group") {
        p.value = spread(p.value, {5 * 3, far, 3, 1});
        runs = 16;
    }
    SUBCASE("each stride is small, their sum is not") {
        const std::int64_t stride = (std::int64_t{1} << 28) - 1;
        p.key = spread(p.key, {stride, stride, 4, 1});
        runs = 2;
    }
    SUBCASE("between the heads of a group: copied") {
        p.query = spread(p.query, {3 * 4, far, 4, 1});
        p.output = spread(p.output, {9, far, 3, 1});
        runs = 16;
    }
    SUBCASE("between keys, backwards: copied") {
        p.key = spread(p.key, {8 * 4, 4, -far, 1});
        runs = 16;
    }
    SUBCASE("an input table: copied") {
        const heed::view<float, 1> to{memory.emplace_back(16 * far).data(), {16}, {far}};
        for (int i = 0; i < 16; ++i) {
            element(to, i) = p.sink_values[static_cast<std::size_t>(i)];
        }
        p.inputs.sinks = to;
        runs = 1;
    }
    REQUIRE(runs != 0);
    for (const bool with_log_sum_exp : {true, false}) {
        for (const int threads : {1, 3}) {
            control.runs = 0;
            models::local_capped(p.query, p.key, p.value, p.output, p.inputs,
                                 {with_log_sum_exp ? p.log_sum_exp : heed::view<float, 3>{}, threads});
            CHECK(control.runs == runs);
            CHECK(p.error(true, with_log_sum_exp) < tolerance);
        }
    }
}

TEST_CASE("empty batch, query and keys") {
    const control_scope scope;
    SUBCASE("no batch") {
        problem p = problem::local_capped(0, 3, 4);
        models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
        CHECK(control.runs == 0);
    }
    SUBCASE("no query, null pointers") {
        problem p = problem::local_capped(2, 0, 4);
        p.query = {nullptr, {2, 16, 0, 4}};
        p.output = {nullptr, {2, 16, 0, 3}};
        models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
        CHECK(control.runs == 0);
    }
    SUBCASE("no keys, null pointers: output is 0, log_sum_exp -inf") {
        problem p = problem::mha(2, 3, 0);
        p.key = p.value = {nullptr, {2, 2, 0, 4}};
        models::mha(p.query, p.key, p.value, p.output, {p.log_sum_exp});
        CHECK(control.runs == 1);
        CHECK(p.error(false, true) == 0);
        CHECK(p.lse[0] == -std::numeric_limits<float>::infinity());
    }
    SUBCASE("no keys, the sink remains; a table without elements") {
        problem p = problem::local_capped(2, 3, 0);
        p.inputs.documents = {nullptr, {2, 0}};
        models::local_capped(p.query, p.key, p.value, p.output, p.inputs, {p.log_sum_exp});
        CHECK(control.runs == 1);
        CHECK(p.error(true, true) < tolerance);
    }
}
