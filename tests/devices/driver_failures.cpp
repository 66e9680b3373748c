// SPDX-License-Identifier: MIT
//
// What calls do with a driver of CUDA that fails. Each case needs a fake_cuda of its own; see CMakeLists.txt.
#include <verify.hpp>

#include <heed/device.hpp>

#include "heed_device_kernels.hpp"

#include <cmath>

using namespace heed::tests;
using heed::device_kind;
using heed::device_preference;

namespace {

struct outcome {
    heed::status status;
    std::string why_cpu;
    bool wrote;
};

outcome call(device_preference device) {
    problem of(kernels::dense.description(), {5, 9});
    results got(of);
    outcome result{{}, {}, true};
    heed::call_options options;
    options.device = device;
    options.why_cpu = &result.why_cpu;
    result.status = kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(), options);
    for_each_index<4>(got.output.extents(), [&](const auto &index) {
        if (std::isnan(got.output[index])) result.wrote = false;
    });
    return result;
}

void check_refusal_and_fallback(heed::status_code code, const std::string &reason) {
    const outcome refused = call(device_preference::gpu);
    CHECK(refused.status.code() == code);
    CHECK_MESSAGE(refused.status.message().find(reason) != std::string::npos, refused.status.message());
    CHECK(!refused.wrote);
    const outcome done = call(device_preference::gpu_else_cpu);
    CHECK(done.status.message() == "");
    CHECK_MESSAGE(done.why_cpu.find(reason) != std::string::npos, done.why_cpu);
    CHECK(done.wrote);
}

}  // namespace

TEST_CASE("a fake driver without a device") {
    CHECK(!heed::device_of(device_kind::cuda).available);
    check_refusal_and_fallback(heed::status_code::unsupported,
                               "libcuda.so.1 has no device: CUDA error: "
                               "CUDA_ERROR_NO_DEVICE cuInit failed");
}

TEST_CASE("a fake driver with an old device") {
    const heed::device &fake = heed::device_of(device_kind::cuda);
    CHECK(fake.available);
    CHECK(fake.name == "a fake");
    CHECK(fake.memory_bytes == 1 << 20);
    CHECK(fake.version == 75);
    check_refusal_and_fallback(heed::status_code::unsupported,
                               "cuda_80: a fake has version 7.5, the kernel was compiled for 8.0");
}

TEST_CASE("a fake driver whose device has no memory") {
    check_refusal_and_fallback(heed::status_code::out_of_memory,
                               "has too little memory: CUDA error: CUDA_ERROR_OUT_OF_MEMORY");
}
