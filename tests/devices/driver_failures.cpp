// SPDX-License-Identifier: MIT
//
// What calls do with a driver of CUDA, and where it fails. Each case needs a fake_cuda of its own; see CMakeLists.txt.
#include <verify.hpp>

#include <heed/device.hpp>

#include "device_limits.hpp"
#include "fake_cuda.hpp"
#include "heed_device_kernels.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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

/// "cuda" on a device of version 7.5.
void check_levels_by_one_name() {
    const heed::variant_description &dense = kernels::dense.description();
    const heed::kernel_description *of_cuda = std::find_if(dense.kernels, dense.kernels + dense.kernel_count,
                                                           [](const auto &each) { return each.device_version == 80; });
    REQUIRE(of_cuda != dense.kernels + dense.kernel_count);
    heed::kernel_description levels[] = {*of_cuda, *of_cuda, *of_cuda};
    levels[0].isa = "cuda_86";
    levels[0].device_version = 86;
    levels[2].isa = "cuda_75";
    levels[2].device_version = 75;
    heed::variant_description variant = dense;
    variant.kernels = levels;
    variant.kernel_count = 3;
    CHECK(&heed::choose_kernel(variant, "cuda") == levels + 2);
    variant.kernel_count = 2;
    CHECK_THROWS_WITH_AS(
        (void)heed::choose_kernel(variant, "cuda"),
        "dense: instruction set \"cuda\" (option 'isa' of the call) cannot be used: a fake has version "
        "7.5, the kernel was compiled for 8.0. Names: avx512, avx2, x86_64, neon, cuda, cuda_86, "
        "cuda_80; in the library for such calls: cuda_86, cuda_80; usable here: none. Fix: choose a "
        "usable one, or none to get the best.",
        heed::unsupported_error);
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
    check_levels_by_one_name();
}

TEST_CASE("a fake driver whose device has no memory") {
    check_refusal_and_fallback(heed::status_code::out_of_memory,
                               "has too little memory: CUDA error: CUDA_ERROR_OUT_OF_MEMORY");
}

namespace {

fake_cuda_control &driver() {
    void *const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_GLOBAL);
    REQUIRE(library != nullptr);
    return *static_cast<fake_cuda_control *>(dlsym(library, "fake_cuda"));
}

/// Makes a context current in this thread for a scope.
class current_scope {
  public:
    explicit current_scope(fake_context &context) { call<int(void *)>("cuCtxPushCurrent_v2", &context); }
    ~current_scope() {
        void *popped = nullptr;
        call<int(void **)>("cuCtxPopCurrent_v2", &popped);
    }
    current_scope(const current_scope &) = delete;
    current_scope &operator=(const current_scope &) = delete;

  private:
    template <typename Function, typename Argument>
    static void call(const char *name, Argument argument) {
        driver();
        reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name))(argument);
    }
};

/// On memory of CUDA; the fake's is the host's.
heed::status call_on_cuda(const problem &of, results &got, void *stream = nullptr) {
    heed::call_options options;
    options.memory = device_kind::cuda;
    options.stream = stream;
    return kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(), options);
}

bool nothing_written(const results &got) {
    bool is_untouched = true;
    for_each_index<4>(got.output.extents(),
                      [&](const auto &index) { is_untouched = is_untouched && std::isnan(got.output[index]); });
    return is_untouched;
}

}  // namespace

TEST_CASE("a driver that works: calls on its memory belong to the caller's context and stream") {
    fake_cuda_control &fake = driver();
    const problem of(kernels::dense.description(), {5, 8});
    results got(of);
    const heed::status nowhere = call_on_cuda(of, got);
    CHECK(nowhere.code() == heed::status_code::unsupported);
    CHECK(nowhere.message() ==
          "dense: no GPU can run this call: cuda_80: no context of CUDA is current in the calling thread. Fix: make a "
          "context current whose GPU can, or copy the tensors to host memory");

    fake_context mine, older{1};
    int stream = 0;
    fake.context = &mine;
    fake.stream = &stream;
    {
        const current_scope current(older);
        CHECK(call_on_cuda(of, got, &stream).message() ==
              "dense: no GPU can run this call: cuda_80: the GPU of the current context has version 7.5, the kernel "
              "was compiled for 8.0. Fix: make a context current whose GPU can, or copy the tensors to host memory");
        CHECK(fake.launches == 0);
    }
    {
        const current_scope current(mine);
        for (int turn = 0; turn < 2; ++turn) {
            fake.synchronised = 0;
            CHECK(call_on_cuda(of, got, &stream).message() == "");
            CHECK(fake.synchronised > 0);
        }
        CHECK(fake.launches > 0);
        CHECK(fake.elsewhere == 0);
        CHECK(fake.live_allocations > 0);
        CHECK(fake.live_modules > 0);
        heed::release_device_memory();
        CHECK(fake.live_allocations == 0);
        CHECK(fake.live_modules == 0);
        CHECK(call_on_cuda(of, got, &stream).message() == "");

        // Fails half-way: what was begun is waited for, nothing is lost.
        for (int launch = 1; fake.failing_launch = fake.launches + launch, fake.synchronised = 0, true; ++launch) {
            const heed::status status = call_on_cuda(of, got, &stream);
            if (status.ok()) break;
            CHECK(status.code() == heed::status_code::kernel_failed);
            CHECK(fake.synchronised > 0);
            REQUIRE(launch < 100);
        }
        fake.failing_launch = 0;
        heed::release_device_memory();
        CHECK(fake.live_allocations == 0);
    }
    CHECK(fake.contexts_made == 0);
}

TEST_CASE("a driver that works until the middle of a call: nothing leaks, results are untouched or the error says so") {
    fake_cuda_control &fake = driver();
    const problem of(kernels::dense.description(), {5, 9});
    heed::call_options options;
    std::string why_cpu;
    options.why_cpu = &why_cpu;
    const auto run = [&](device_preference device, results &got) {
        options.device = device;
        return kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(), options);
    };
    const results on_cpu = heed::tests::run(kernels::dense, of, {}, {"x86_64", "prefill"}, 1);
    {
        results got(of);
        CHECK(run(device_preference::gpu, got).message() == "");
        CHECK(!nothing_written(got));
    }
    struct failure {
        int fake_cuda_control::*order, fake_cuda_control::*count;
        heed::status_code code;
        bool may_write;
    };
    using control = fake_cuda_control;
    for (const failure &each :
         {failure{&control::failing_allocation, &control::allocations, heed::status_code::out_of_memory, false},
          {&control::failing_launch, &control::launches, heed::status_code::kernel_failed, false},
          {&control::failing_copy, &control::copies_to_host, heed::status_code::kernel_failed, true}}) {
        int failed = 0;
        for (int number = 1;; ++number) {
            REQUIRE(number < 100);
            const auto arm = [&] {
                fake.*each.order = 0;
                heed::release_device_memory();
                CHECK(fake.live_allocations == 0);
                fake.*each.order = fake.*each.count + number;
            };
            arm();
            results got(of);
            const heed::status status = run(device_preference::gpu, got);
            if (status.ok()) break;
            ++failed;
            CHECK(status.code() == each.code);
            CHECK((each.may_write || nothing_written(got)));
            CHECK(why_cpu == "");
            arm();
            results fallen_back(of);
            CHECK(run(device_preference::gpu_else_cpu, fallen_back).message() == "");
            CHECK(why_cpu == status.message());
            for_each_index<4>(of.query.extents(), [&](const auto &index) {
                CHECK(fallen_back.output[index] == doctest::Approx(on_cpu.output[index]).epsilon(1e-5));
            });
        }
        CHECK(failed > 0);
        fake.*each.order = 0;
    }
}

namespace {

/// Both schedules of a variant, on so many queries and keys that the state of all rows is what needs most memory.
template <typename Inputs>
void check_needs(const heed::attention_kernel<Inputs> &called, const lengths &sizes) {
    const heed::variant_description &variant = called.description();
    const problem of(variant, sizes);
    for (int i = 0; i < variant.kernel_count; ++i) {
        const heed::kernel_description &kernel = variant.kernels[i];
        if (kernel.device != device_kind::cuda) continue;
        heed::release_device_memory();
        driver().largest_allocation = 0;
        run(called, of, {}, {kernel.isa, kernel.schedule}, 1);
        const heed::detail::needs_of_group needs =
            heed::detail::needs_of(variant, kernel, {sizes.batch, sizes.q_len, sizes.kv_len});
        const double floats = static_cast<double>(sizes.batch * variant.groups * needs.floats);
        const double largest = static_cast<double>(driver().largest_allocation) / 4;
        INFO(std::string(kernel.name));
        CHECK(largest <= floats * 9 / 8);  // Halide rounds up
    }
}

}  // namespace

TEST_CASE("a driver that works: kernels keep no more than is counted on") {
    check_needs(kernels::dense, {300, 20});
    check_needs(kernels::odd, {200, 20});
    check_needs(kernels::changed, {100, 10});
}
