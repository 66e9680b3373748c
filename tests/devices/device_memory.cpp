// SPDX-License-Identifier: MIT
//
// Calls on memory of a device, OpenCL's or Vulkan's, allocated through Halide's runtime.
#include <verify.hpp>

#include <HalideBuffer.h>
#include <HalideRuntimeOpenCL.h>
#include <HalideRuntimeVulkan.h>
#include <heed/device.hpp>

#include "has_device.hpp"
#include "heed_device_kernels.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace heed::tests;
using heed::device_kind;

namespace {

/// Those that are here.
std::vector<device_kind> kinds() {
    std::vector<device_kind> found;
    for (const device_kind kind : {device_kind::opencl, device_kind::vulkan}) {
        if (has_device(kind)) found.push_back(kind);
    }
    return found;
}

/// A tensor of the device, without gaps.
template <int Rank>
class device_tensor {
  public:
    device_tensor(device_kind kind, const tensor<float, Rank> &from) : kind_(kind), extents_(from.extents()) {
        std::vector<int> sizes(extents_.rbegin(), extents_.rend());
        memory_ = Halide::Runtime::Buffer<float>(sizes);
        std::size_t i = 0;
        for_each_index<Rank>(extents_, [&](const auto &index) { memory_.data()[i++] = from[index]; });
        memory_.set_host_dirty();
        REQUIRE(memory_.copy_to_device(kind == device_kind::opencl ? halide_opencl_device_interface()
                                                                   : halide_vulkan_device_interface()) == 0);
    }

    template <class T>
    heed::view<T, Rank> view(const index_list<Rank> &strides) {
        const std::uintptr_t handle = kind_ == device_kind::opencl
                                          ? halide_opencl_get_cl_mem(nullptr, memory_.raw_buffer())
                                          : static_cast<std::uintptr_t>(memory_.raw_buffer()->device);
        T *pointer = nullptr;
        std::memcpy(&pointer, &handle, sizeof pointer);
        return {pointer, extents_, strides};
    }
    template <class T>
    heed::view<T, Rank> view() {
        return view<T>(row_major<Rank>(extents_));
    }

    void fetch(tensor<float, Rank> &into) {
        memory_.set_device_dirty();
        REQUIRE(memory_.copy_to_host() == 0);
        std::size_t i = 0;
        for_each_index<Rank>(extents_, [&](const auto &index) { into[index] = memory_.data()[i++]; });
    }

  private:
    device_kind kind_;
    index_list<Rank> extents_;
    Halide::Runtime::Buffer<float> memory_;
};

heed::call_options on_memory_of(device_kind kind) {
    heed::call_options options;
    options.memory = kind;
    return options;
}

}  // namespace

TEST_CASE("tensors in memory of the device are read and written there") {
    for (const device_kind kind : kinds()) {
        CAPTURE(heed::name_of(kind));
        for (const lengths &sizes : {lengths{70, 130}, {1, 33}, {3, 0}}) {
            const problem of(kernels::odd.description(), sizes);
            const results expected = run(kernels::odd, of, {}, {heed::name_of(kind), "prefill"}, 1);
            results got(of);
            device_tensor<4> query(kind, of.query), output(kind, got.output);
            // Without keys there is no memory for them.
            const problem some(kernels::odd.description(), {sizes.q_len, std::max<std::int64_t>(sizes.kv_len, 1)});
            device_tensor<4> key(kind, sizes.kv_len > 0 ? of.key : some.key),
                value(kind, sizes.kv_len > 0 ? of.value : some.value);
            device_tensor<3> log_sum_exp(kind, got.log_sum_exp);
            const auto rows_of = [&](heed::view<const float, 4> all) {
                const auto extents = all.extents();
                return heed::view<const float, 4>(all.data(), {extents[0], extents[1], sizes.kv_len, extents[3]},
                                                  all.strides());
            };
            heed::call_options options = on_memory_of(kind);
            options.log_sum_exp = log_sum_exp.view<float>();
            kernels::odd(query.view<const float>(), rows_of(key.view<const float>()),
                         rows_of(value.view<const float>()), output.view<float>(), options);
            output.fetch(got.output);
            log_sum_exp.fetch(got.log_sum_exp);
            CHECK(same_bits(got.output, expected.output));
            CHECK(same_bits(got.log_sum_exp, expected.log_sum_exp));
        }
    }
}

TEST_CASE("tensors in memory of the device with any strides, and memory between their elements stays as it was") {
    for (const device_kind kind : kinds()) {
        CAPTURE(heed::name_of(kind));
        for (const lengths &sizes : {lengths{70, 130}, {2, 600}}) {
            const problem of(kernels::dense.description(), sizes);
            const results expected = run(kernels::dense, of, {}, {"x86_64", "prefill"}, 1);
            // (batch, length, heads, row), rows with gaps behind them.
            const auto stored = [](const tensor<float, 4> &from, std::int64_t row) {
                const auto extents = from.extents();
                tensor<float, 4> wide({extents[0], extents[2], extents[1], row});
                for_each_index<4>(wide.extents(), [&](const auto &i) {
                    wide[i] = i[3] < extents[3] ? from(i[0], i[2], i[1], i[3]) : -1000.0f;
                });
                return wide;
            };
            const auto view_of = [](auto &memory, const tensor<float, 4> &of, std::int64_t row) {
                const auto extents = of.extents();
                const std::int64_t heads = extents[1], length = extents[2];
                const auto all = memory.template view<float>();
                return heed::view<float, 4>(all.data(), {extents[0], heads, length, extents[3]},
                                            {length * heads * row, row, heads * row, 1});
            };
            results got(of);
            for_each_index<4>(got.output.extents(), [&](const auto &i) { got.output[i] = 0; });
            tensor<float, 4> wide_output = stored(got.output, 11);
            device_tensor<4> query(kind, stored(of.query, 9)), key(kind, stored(of.key, 12)),
                value(kind, stored(of.value, 16)), output(kind, wide_output);
            kernels::dense(view_of(query, of.query, 9), view_of(key, of.key, 12), view_of(value, of.value, 16),
                           view_of(output, got.output, 11), on_memory_of(kind));
            output.fetch(wide_output);
            for_each_index<4>(wide_output.extents(), [&](const auto &i) {
                if (i[3] < 8) {
                    CHECK(wide_output[i] == doctest::Approx(expected.output(i[0], i[2], i[1], i[3])).epsilon(1e-5));
                } else {
                    CHECK(wide_output[i] == -1000.0f);
                }
            });
        }
    }
}

TEST_CASE("an output that is a tensor of the call, or repeats elements, is refused in memory of the device, too") {
    for (const device_kind kind : kinds()) {
        CAPTURE(heed::name_of(kind));
        const problem of(kernels::dense.description(), {5, 8, 1});
        results got(of);
        device_tensor<4> query(kind, of.query), key(kind, of.key), value(kind, of.value), output(kind, got.output);
        const auto refusal = [&](const heed::view<float, 4> &into) {
            const heed::status status = kernels::dense.try_run(query.view<const float>(), key.view<const float>(),
                                                               value.view<const float>(), into, on_memory_of(kind));
            CHECK(status.code() == heed::status_code::invalid_argument);
            return status.message();
        };
        CHECK(refusal(query.view<float>()).find("dense: output and query overlap") == 0);
        CHECK(refusal(output.view<float>({80, 40, 0, 1})).find("dense: output has elements that may share memory") ==
              0);
    }
}

TEST_CASE("what kernels cannot use in place is refused") {
    for (const device_kind kind : kinds()) {
        CAPTURE(heed::name_of(kind));
        const problem of(kernels::dense.description(), {5, 9, 1});
        results got(of);
        device_tensor<4> query(kind, of.query), key(kind, of.key), value(kind, of.value), output(kind, got.output);
        const auto refusal = [&](const heed::view<const float, 4> &keys, const heed::call_options &options) {
            const heed::status status = kernels::dense.try_run(
                query.view<const float>(), keys, value.view<const float>(), output.view<float>(), options);
            CHECK(status.code() != heed::status_code::ok);
            return status.message();
        };
        CHECK(refusal(key.view<const float>({144, 71, 9, 1}), on_memory_of(kind)) ==
              "dense: key lies in memory of " + std::string(heed::name_of(kind)) +
                  ", and has a stride that is negative or no multiple of four elements, or "
                  "begins between such multiples. Kernels use such memory as it is. Fix: copy the tensor");
        heed::call_options of_cuda;
        of_cuda.memory = device_kind::cuda;
        if (!heed::device_of(device_kind::cuda).available) {
            CHECK(refusal(key.view<const float>(), of_cuda).find("dense: no GPU can run this call: cuda_80: ") == 0);
        }
    }
}
