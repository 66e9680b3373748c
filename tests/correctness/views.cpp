// SPDX-License-Identifier: MIT
//
// Tensors anywhere in memory. What lies around their elements is NaN: a kernel that reads it gives NaN.
#include <verify.hpp>

#include "heed_correctness_kernels.hpp"

#include <sys/mman.h>

using namespace heed::tests;

namespace {

/// A tensor spread over more memory than there is: only pages that hold elements exist.
class far_tensor {
    index_list<4> extents_, strides_;
    std::size_t bytes_ = sizeof(float);
    std::int64_t first_ = 0;
    void *memory_;

  public:
    far_tensor(const index_list<4> &extents, const index_list<4> &strides) : extents_(extents), strides_(strides) {
        for (std::size_t d = 0; d < 4; ++d) {
            const std::int64_t reach = (extents[d] - 1) * strides[d];
            bytes_ += static_cast<std::size_t>(std::abs(reach)) * sizeof(float);
            if (reach < 0) first_ -= reach;
        }
        memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    far_tensor(const tensor<float, 4> &from, const index_list<4> &strides) : far_tensor(from.extents(), strides) {
        if (!exists()) return;
        for_each_index<4>(extents_, [&](const auto &at) { (*this)[at] = from[at]; });
    }
    far_tensor(const far_tensor &) = delete;
    far_tensor &operator=(const far_tensor &) = delete;
    ~far_tensor() {
        if (exists()) munmap(memory_, bytes_);
    }

    /// False where the system does not lend addresses without memory.
    bool exists() const { return memory_ != MAP_FAILED; }

    float &operator[](const index_list<4> &at) {
        std::int64_t offset = first_;
        for (std::size_t d = 0; d < 4; ++d) offset += at[d] * strides_[d];
        return static_cast<float *>(memory_)[offset];
    }
    heed::view<float, 4> view() { return {static_cast<float *>(memory_) + first_, extents_, strides_}; }
};

/// (batch, length, head, dim) in memory, with `gap` numbers after every row.
index_list<4> length_first(const index_list<4> &extents, std::int64_t gap) {
    const std::int64_t row = extents[3] + gap;
    return {extents[2] * extents[1] * row, row, extents[1] * row, 1};
}

}  // namespace

TEST_CASE("length before heads, with gaps between rows") {
    for (const std::int64_t gap : {0, 1, 5}) {
        problem of(kernels::dim_31.description(), {70, 200});
        of.query = of.query.with_strides(length_first(of.query.extents(), gap));
        of.key = of.key.with_strides(length_first(of.key.extents(), gap + 1));
        of.value = of.value.with_strides(length_first(of.value.extents(), gap + 2));
        verify(kernels::dim_31, of);
    }
}

TEST_CASE("from the last to the first") {
    problem of(kernels::dim_31.description(), {70, 200});
    of.query = of.query.with_strides({-26040, 2170, -31, 1});
    of.key = of.key.with_strides({12400, -6200, -31, 1});
    of.value = of.value.with_strides({-16000, -8000, -40, 1});
    verify(kernels::dim_31, of);
}

TEST_CASE("one for all: stride 0 over batch, group or length") {
    const problem of(kernels::dim_31.description(), {70, 200});
    const auto repeat = [](auto &values, int dimension) {
        index_list<4> strides = values.strides();
        strides[static_cast<std::size_t>(dimension)] = 0;
        values = tensor<float, 4>(values.extents(), strides);
        filler(7).fill(values);
    };
    for (const int dimension : {0, 1, 2}) {
        CAPTURE(dimension);
        problem queries = of, keys = of, values = of;
        repeat(queries.query, dimension);
        verify(kernels::dim_31, queries);
        repeat(keys.key, dimension);
        verify(kernels::dim_31, keys);
        repeat(values.value, dimension);
        verify(kernels::dim_31, values);
    }
}

TEST_CASE("rows that overlap") {
    problem of(kernels::dense.description(), {70, 200});
    of.key = tensor<float, 4>(of.key.extents(), {1000, 333, 1, 1});
    of.value = tensor<float, 4>(of.value.extents(), {1000, 333, 3, 1});
    filler random(8);
    random.fill(of.key);
    random.fill(of.value);
    verify(kernels::dense, of);
}

TEST_CASE("output and log_sum_exp anywhere") {
    const problem of(kernels::dim_31.description(), {70, 200});
    for (const kernel_choice &which : kernels_of(kernels::dim_31.description())) {
        const results expected = run(kernels::dim_31, of, {}, which, 2);
        const index_list<4> extents = expected.output.extents();
        for (const index_list<4> &strides :
             {length_first(extents, 0), length_first(extents, 3), index_list<4>{-40000, 2900, -41, 1}}) {
            for (const index_list<3> &lse_strides : {index_list<3>{1, 2, 24}, {-2000, 150, -2}, {840, 1, 12}}) {
                tensor<float, 4> output(extents, strides);
                tensor<float, 3> log_sum_exp(expected.log_sum_exp.extents(), lse_strides);
                kernels::dim_31(of.query.view(), of.key.view(), of.value.view(), output.view(),
                                {log_sum_exp.view(), 2, which.isa, which.schedule});
                CHECK(same_bits(output, expected.output));
                CHECK(same_bits(log_sum_exp, expected.log_sum_exp));
                CHECK(output.untouched());
                CHECK(log_sum_exp.untouched());
            }
        }
    }
}

TEST_CASE("one packed tensor of queries, keys and values") {
    const std::int64_t length = 150, heads = 2, dim = 8, row = 3 * heads * dim;
    tensor<float, 2> packed({2 * length, row});
    filler(9).fill(packed);
    problem of(kernels::dense.description(), {length, length});
    const auto part = [&](std::int64_t number) {
        return heed::view<const float, 4>{
            &packed(0, number * heads * dim), {2, heads, length, dim}, {length * row, dim, row, 1}};
    };
    for_each_index<4>(of.query.extents(), [&](const auto &index) {
        const std::int64_t line = index[0] * length + index[2], column = index[1] * dim + index[3];
        of.query[index] = packed(line, column);
        of.key[index] = packed(line, heads * dim + column);
        of.value[index] = packed(line, 2 * heads * dim + column);
    });
    verify(kernels::dense, of);
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const results expected = run(kernels::dense, of, {}, which, 1);
        results got(of);
        kernels::dense(part(0), part(1), part(2), got.output.view(),
                       {got.log_sum_exp.view(), 1, which.isa, which.schedule});
        CHECK(same_bits(got.output, expected.output));
        CHECK(same_bits(got.log_sum_exp, expected.log_sum_exp));
    }
}

TEST_CASE("query, key and value are the same tensor") {
    problem of(kernels::dense.description(), {150, 150});
    of.key = of.query;
    of.value = of.query;
    verify(kernels::dense, of);
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const results expected = run(kernels::dense, of, {}, which, 1);
        results got(of);
        const auto &same = of.query;
        kernels::dense(same.view(), same.view(), same.view(), got.output.view(),
                       {got.log_sum_exp.view(), 1, which.isa, which.schedule});
        CHECK(same_bits(got.output, expected.output));
    }
}

TEST_CASE("strides far beyond 2^31 bytes, over batches, heads or rows") {
    const problem of(kernels::dense.description(), {4, 9});
    constexpr std::int64_t far = (std::int64_t{1} << 31) + 24;
    for (const kernel_choice &which : kernels_of(kernels::dense.description())) {
        const results expected = run(kernels::dense, of, {}, which, 1);
        for (const index_list<4> &strides : {index_list<4>{far, 100, 8, 1},
                                             {100, far, 8, 1},
                                             {200, 100, far, 1},
                                             {-far, 3 * far, 8, 1},
                                             {8, 16, -far, 1}}) {
            CAPTURE(strides[0]);
            CAPTURE(strides[1]);
            CAPTURE(strides[2]);
            far_tensor query(of.query, strides), key(of.key, strides), value(of.value, strides),
                output(expected.output.extents(), strides);
            if (!query.exists() || !key.exists() || !value.exists() || !output.exists()) {
                MESSAGE("no addresses without memory here");
                return;
            }
            tensor<float, 3> log_sum_exp(expected.log_sum_exp.extents());
            kernels::dense(query.view(), key.view(), value.view(), output.view(),
                           {log_sum_exp.view(), 2, which.isa, which.schedule});
            bool same = true;
            for_each_index<4>(expected.output.extents(),
                              [&](const auto &at) { same = same && output[at] == expected.output[at]; });
            CHECK(same);
            CHECK(same_bits(log_sum_exp, expected.log_sum_exp));
        }
    }
}
