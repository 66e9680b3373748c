// SPDX-License-Identifier: MIT
//
// Calls of kernels of devices as far as they go without a device: what is refused, which parts a call is cut into, and
// which reasons it gives. The kernels are fake and compute on the CPU.

#include <HalideRuntime.h>
#include <doctest/doctest.h>
#include <heed/device.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "argument_check.hpp"
#include "call_context.hpp"
#include "device_memory.hpp"
#include "environment_variable.hpp"
#include "fake_control.hpp"
#include "kernel_arguments.hpp"
#include "kernel_call.hpp"
#include "problem.hpp"
#include "refusal.hpp"

namespace {

using heed::device_kind;
using heed::device_preference;

/// mha with one kernel of a device, which computes on the CPU whatever it says, and its kernels for CPUs.
struct device_variant {
    heed::kernel_description kernels[4];
    heed::variant_description description = fake_kernels.variants[1];

    explicit device_variant(device_kind device) {
        std::copy(description.kernels, description.kernels + 3, kernels + 1);
        kernels[0] = kernels[3];
        kernels[0].device = device;
        kernels[0].name = "mha_on_device";
        kernels[0].isa = device == device_kind::cuda ? "cuda_80" : device == device_kind::opencl ? "opencl" : "vulkan";
        description.kernels = kernels;
        description.kernel_count = 4;
    }
    device_variant(const device_variant &) = delete;
    device_variant &operator=(const device_variant &) = delete;

    heed::kernel_description &kernel() { return kernels[0]; }
};

heed::call_arguments arguments_of(const problem &p, const heed::variant_description &variant) {
    heed::call_arguments call;
    call.variant = &variant;
    call.query = heed::as_tensor(p.query);
    call.key = heed::as_tensor(p.key);
    call.value = heed::as_tensor(p.value);
    call.output = {p.output.data(), heed::data_type::f32, 4, p.output.extents().data(), p.output.strides().data()};
    return call;
}

/// Runs the kernel of the device without asking for one. Returns how often it ran.
int runs_of(const problem &p, device_variant &variant, device_kind memory = device_kind::cpu) {
    heed::call_arguments call = arguments_of(p, variant.description);
    call.memory = memory;
    control.reset();
    const heed::detail::checked_call checked = heed::detail::check_arguments(call, variant.kernel());
    heed::detail::install_halide_hooks();
    heed::detail::call_context context;
    const heed::detail::context_scope scope(&context);
    heed::detail::call_kernel(variant.description, variant.kernel(), checked, nullptr, memory, context);
    return control.runs;
}

}  // namespace

TEST_CASE("grids of devices have 65535 blocks along an axis: more groups of all batches run one batch at a time") {
    const control_scope scope;
    for (const device_kind device : {device_kind::cuda, device_kind::opencl, device_kind::vulkan}) {
        device_variant variant(device);
        const problem enough = problem::mha(65535 / 2, 1, 1);
        CHECK(runs_of(enough, variant) == 1);
        CHECK(enough.error(false) < 1e-6);
        const problem more = problem::mha(65535 / 2 + 1, 1, 1);
        CHECK(runs_of(more, variant) == 65535 / 2 + 1);
        CHECK(more.error(false) < 1e-6);
    }
    device_variant on_cpu(device_kind::cpu);
    CHECK(runs_of(problem::mha(65535 / 2 + 1, 1, 1), on_cpu) == 1);
}

TEST_CASE("blocks of 128 threads have a thread for each element, Vulkan's grids at most 65535 of them") {
    const control_scope scope;
    device_variant vulkan(device_kind::vulkan), opencl(device_kind::opencl);
    vulkan.kernel().query_tile = 64;
    vulkan.kernel().block.threads = 64;
    vulkan.kernel().block.rows_of_thread = 1;
    // Of all batches together; each alone is small enough.
    const problem p = problem::mha(2, 600'000, 1);
    CHECK(runs_of(p, vulkan) == 2);
    CHECK(runs_of(p, opencl) == 1);
    CHECK(p.error(false) < 1e-6);
}

TEST_CASE("what a kernel keeps for rows that are not used counts: parts of a call, then a refusal") {
    const control_scope scope;
    device_variant variant(device_kind::cuda);
    variant.kernel().query_tile = 1 << 20;
    variant.kernel().block.threads = 1024;
    variant.kernel().block.rows_of_thread = 4 << 10;  // four slices, of one column of the values each: 12 floats a row
    const auto runs = [&](std::int64_t batch, std::int64_t kv_len = 1) {
        const problem p = problem::mha(batch, 3, kv_len);
        const int count = runs_of(p, variant);
        CHECK(p.error(false) < 1e-6);
        return count;
    };
    CHECK(runs(21) == 1);  // 42 * 12 * 2^20 floats, less than 2^29
    CHECK(runs(22) == 22);
    variant.kernel().block.keys_of_part = 2;
    CHECK(runs(1, 42) == 1);
    CHECK(runs(1, 43) == 2);  // 22 parts for each of two groups
    CHECK(runs(1, 84) == 2);
    problem p = problem::mha(1, 3, 86);
    CHECK(refusal([&] { runs_of(p, variant); }) ==
          "mha: kernel mha_on_device keeps the state of all rows meanwhile, its floats are 541065216, the limit of "
          "cuda is 536870911, for one group of one batch. Fix: pass fewer queries or keys at a time, or call a kernel "
          "of the CPU");
    CHECK(p.nothing_written());
    variant.kernel().block.rows_of_thread = 0;  // the upper bound
    CHECK(refusal([&] { runs_of(p, variant); }).find("its floats are 2164260864") != std::string::npos);
}

TEST_CASE("calls on memory that has no addresses cannot be cut into parts") {
    const control_scope scope;
    for (const device_kind memory : {device_kind::opencl, device_kind::vulkan}) {
        device_variant variant(memory);
        problem p = problem::mha(40'000, 1, 1);
        CHECK(refusal([&] { runs_of(p, variant, memory); }) ==
              std::string("mha: kernel mha_on_device has a block of threads for each group of each batch, batch * "
                          "groups is 80000, the limit of ") +
                  heed::name_of(memory) + " is 65535. Tensors in memory of " + heed::name_of(memory) +
                  " are used as a whole. Fix: call the kernel for fewer batches at a time");
        CHECK(control.runs == 0);
    }
}

TEST_CASE("calls on memory that has no addresses, too large for one batch: the fix is one that helps") {
    const control_scope scope;
    device_variant variant(device_kind::opencl);
    variant.kernel().query_tile = 1 << 20;
    variant.kernel().block.threads = 1024;
    variant.kernel().block.rows_of_thread = 4 << 10;  // 12 floats a row
    variant.kernel().block.keys_of_part = 2;
    const auto refused = [&](std::int64_t batch, std::int64_t kv_len) {
        const problem p = problem::mha(batch, 3, kv_len);
        return refusal([&] { runs_of(p, variant, device_kind::opencl); });
    };
    CHECK(refused(2, 42).find("Fix: call the kernel for fewer batches at a time") != std::string::npos);
    // Each group alone is small enough, but no call computes one alone there.
    CHECK(refused(2, 84) ==
          "mha: kernel mha_on_device keeps the state of all rows meanwhile, its floats are 1056964608, the limit of "
          "opencl is 536870911, for one batch. Tensors in memory of opencl are used as a whole. Fix: pass fewer "
          "queries or keys at a time, or copy the tensors to host memory, from where kernels take one group at a time");
    CHECK(refused(1, 86) ==
          "mha: kernel mha_on_device keeps the state of all rows meanwhile, its floats are 541065216, the limit of "
          "opencl is 536870911, for one group of one batch. Fix: pass fewer queries or keys at a time, or copy the "
          "tensors to host memory and call a kernel of the CPU");
    CHECK(control.runs == 0);
}

TEST_CASE("tensors in memory of a device: what needs no addresses is checked") {
    for (const device_kind memory : {device_kind::cuda, device_kind::opencl, device_kind::vulkan}) {
        device_variant variant(memory);
        const problem p = problem::mha(2, 3, 3);
        const heed::call_arguments good = [&] {
            heed::call_arguments call = arguments_of(p, variant.description);
            call.memory = memory;
            return call;
        }();
        const auto refused = [&](const auto &change) {
            heed::call_arguments call = good;
            change(call);
            return refusal([&] { heed::detail::check_arguments(call, variant.kernel()); });
        };
        CHECK(refused([](heed::call_arguments &) {}) == "nothing was refused");
        CHECK(refused([&](heed::call_arguments &call) {
                  call.output.data = const_cast<void *>(call.value.data);
              }).find("mha: output and value overlap") == 0);
        CHECK(refused([&](heed::call_arguments &call) { call.output.data = const_cast<void *>(call.query.data); }) ==
              "mha: output and query overlap: output would be written while query is in use. Fix: give output memory "
              "of its own");
        const std::int64_t repeated[] = {0, 12, 4, 1};
        CHECK(refused([&](heed::call_arguments &call) {
                  call.output.strides = repeated;
              }).find("mha: output has elements that may share memory") == 0);
        const std::int64_t lse_extents[] = {2, 2, 3}, lse_strides[] = {6, 3, 0};
        CHECK(refused([&](heed::call_arguments &call) {
                  call.log_sum_exp = {call.output.data, heed::data_type::f32, 3, lse_extents, nullptr};
              }).find("mha: output and log_sum_exp overlap") == 0);
        CHECK(refused([&](heed::call_arguments &call) {
                  call.log_sum_exp = {const_cast<float *>(p.lse.data()), heed::data_type::f32, 3, lse_extents,
                                      lse_strides};
              }).find("mha: log_sum_exp has elements that may share memory") == 0);
        // Two handles one behind the other are two tensors, at any number.
        const bool is_address = memory == device_kind::cuda;
        const std::string answer = refused([&](heed::call_arguments &call) {
            call.query.data = reinterpret_cast<const char *>(call.output.data) + 1;
        });
        CHECK((answer == "nothing was refused") == !is_address);
    }
}

namespace {

/// Where query, key, value and output of the last run lay.
const void *places[4];

int note_places(void **arguments) {
    constexpr int numbers[] = {1, 2, 3, 6};
    for (int i = 0; i < 4; ++i) {
        places[i] = static_cast<const halide_buffer_t *>(arguments[numbers[i]])->host;
    }
    return 0;
}

}  // namespace

TEST_CASE("kernels read keys and values in fours, which begin at multiples of four: nothing else is copied for it") {
    const control_scope scope;
    device_variant variant(device_kind::cuda);
    variant.kernel().run = note_places;
    problem p = problem::mha(2, 3, 3);
    for (std::vector<float> *all : {&p.q, &p.k, &p.v, &p.o}) {
        all->push_back(0);
    }
    p.query = {p.q.data() + 1, p.query.extents()};
    p.key = {p.k.data() + 1, p.key.extents()};
    p.output = {p.o.data() + 1, p.output.extents()};
    runs_of(p, variant);
    CHECK(places[0] == p.query.data());
    CHECK(places[1] != p.key.data());
    CHECK(places[2] == p.value.data());
    CHECK(places[3] == p.output.data());
}

TEST_CASE("buffers are parted from memory of a device whatever happens") {
    heed::detail::call_context context;
    const heed::detail::context_scope scope(&context);
    halide_dimension_t dimension = {0, 4, 1};
    halide_buffer_t buffer = {};
    heed::detail::describe(buffer, heed::data_type::f32, &dimension, 1);
    float memory[4] = {};
    {
        heed::detail::device_memory taken(context);
        REQUIRE(taken.wrap(buffer, reinterpret_cast<char *>(memory), device_kind::opencl) == 0);
        CHECK(buffer.device != 0);
    }
    CHECK(buffer.device == 0);
    CHECK(buffer.device_interface == nullptr);
}

TEST_CASE("handles need not be multiples of anything") {
    const control_scope scope;
    device_variant variant(device_kind::opencl);
    problem p = problem::mha(2, 3, 3);
    p.key = {reinterpret_cast<const float *>(reinterpret_cast<const char *>(p.k.data()) + 1), p.key.extents()};
    heed::call_arguments call = arguments_of(p, variant.description);
    call.memory = device_kind::opencl;
    variant.kernel().run = [](void **) { return -17; };  // this far and no further
    const heed::detail::checked_call checked = heed::detail::check_arguments(call, variant.kernel());
    heed::detail::call_context context;
    const heed::detail::context_scope current(&context);
    CHECK_THROWS_WITH_AS(heed::detail::call_kernel(variant.description, variant.kernel(), checked, nullptr,
                                                   device_kind::opencl, context),
                         "mha: kernel mha_on_device failed: it returned -17", heed::kernel_error);
}

namespace {

std::string answer(const heed::call_arguments &call, heed::status_code code) {
    const heed::status status = heed::try_run(call);
    CHECK(status.code() == code);
    return status.message();
}

}  // namespace

TEST_CASE("why no GPU runs a call: the schedule, the types, the pass, the kind of device") {
    const control_scope scope;
    device_variant variant(device_kind::cuda);
    problem p = problem::mha(1, 2, 2);
    heed::call_arguments call = arguments_of(p, variant.description);
    std::string why_cpu;
    call.why_cpu = &why_cpu;
    constexpr auto unsupported = heed::status_code::unsupported;
    for (const device_preference device : {device_preference::gpu, device_preference::gpu_else_cpu}) {
        call.device = device;
        call.schedule = "sideways";
        CHECK(answer(call, unsupported) ==
              "mha: the library has no schedule \"sideways\" for the pass \"forward\". Fix: add it to SCHEDULES of "
              "heed_add_kernels, or leave it out.");
    }
    call.query.type = heed::data_type::f16;
    CHECK(answer(call, unsupported).find("mha: the library has no schedule \"sideways\"") == 0);
    call.query.type = heed::data_type::f32;
    call.schedule = nullptr;

    SUBCASE("a schedule that only CPUs have") {
        for (heed::kernel_description *each = variant.kernels + 1; each < variant.kernels + 4; ++each) {
            each->schedule = "decode";
        }
        call.schedule = "decode";
        CHECK(answer(call, heed::status_code::ok) == "");
        CHECK(why_cpu == "the library has no kernel of a GPU with the schedule \"decode\" for the pass \"forward\"");
        call.device = device_preference::gpu;
        CHECK(answer(call, unsupported) ==
              "mha: no GPU can run this call: the library has no kernel of a GPU with the schedule \"decode\" for the "
              "pass \"forward\". Fix: leave the schedule out or add it to SCHEDULES of heed_add_kernels, or prefer "
              "gpu_else_cpu");
        CHECK(why_cpu == "");
    }
    SUBCASE("types") {
        variant.kernel().types = heed::data_type::f16;
        CHECK(answer(call, heed::status_code::ok) == "");
        CHECK(why_cpu ==
              "the library has kernels of a GPU for tensors (query:key:value:output) of f16:f16:f16:f16, none for "
              "f32:f32:f32:f32");
        call.device = device_preference::gpu;
        CHECK(answer(call, unsupported) ==
              "mha: no GPU can run this call: the library has kernels of a GPU for tensors (query:key:value:output) of "
              "f16:f16:f16:f16, none for f32:f32:f32:f32. Fix: pass tensors of such types or add theirs to DTYPES of "
              "heed_add_kernels, or prefer gpu_else_cpu");
        call.memory = device_kind::cuda;
        CHECK(answer(call, unsupported)
                  .find("the library has kernels of cuda for tensors (query:key:value:output) of f16:f16:f16:f16, none "
                        "for f32:f32:f32:f32. Fix: pass tensors of such types or add theirs to DTYPES of "
                        "heed_add_kernels") != std::string::npos);
    }
    SUBCASE("the kind of device") {
        call.memory = device_kind::vulkan;
        CHECK(answer(call, unsupported) ==
              "mha: no GPU can run this call: the library has no kernel of vulkan for the pass \"forward\". Fix: add "
              "vulkan to TARGETS of heed_add_kernels, or copy the tensors to host memory");
    }
    SUBCASE("no kernel of a device at all") {
        variant.description.kernels = variant.kernels + 1;
        variant.description.kernel_count = 3;
        call.device = device_preference::gpu;
        CHECK(answer(call, unsupported) ==
              "mha: no GPU can run this call: the library has no kernel of a GPU for the pass \"forward\". Fix: add "
              "cuda, opencl or vulkan to TARGETS of heed_add_kernels, or prefer gpu_else_cpu");
    }
}

TEST_CASE("an instruction set beside a preference for a GPU") {
    const control_scope scope;
    device_variant variant(device_kind::cuda);
    problem p = problem::mha(1, 2, 2);
    heed::call_arguments call = arguments_of(p, variant.description);
    std::string why_cpu = "of an earlier call";
    call.why_cpu = &why_cpu;
    for (const device_preference device : {device_preference::gpu, device_preference::gpu_else_cpu}) {
        call.device = device;
        call.isa = "x86_64";
        CHECK(answer(call, heed::status_code::invalid_argument) ==
              std::string("mha: instruction set \"x86_64\" (option 'isa' of the call) is one of CPUs, but the call ") +
                  "asks for a GPU. Fix: leave one of the two out, or name an instruction set of a device: cuda, "
                  "cuda_86, cuda_80, cuda_75, opencl, vulkan");
        CHECK(why_cpu == "");
        call.isa = "sse9";
        CHECK(answer(call, heed::status_code::unsupported)
                  .find("mha: instruction set \"sse9\" (option 'isa' of the call) is not the name of an instruction "
                        "set. Names: ") == 0);
    }
    call.isa = "vulkan";
    call.device = device_preference::gpu;
    CHECK(answer(call, heed::status_code::unsupported) ==
          "mha: no GPU can run this call: the library has no kernel of vulkan for the pass \"forward\". Fix: add "
          "vulkan to TARGETS of heed_add_kernels, or prefer gpu_else_cpu");
    call.device = device_preference::gpu_else_cpu;
    CHECK(answer(call, heed::status_code::ok) == "");
    CHECK(why_cpu == "the library has no kernel of vulkan for the pass \"forward\"");
    call.isa = "cuda";
    variant.kernel().types = heed::data_type::f16;
    CHECK(answer(call, heed::status_code::ok) == "");
    CHECK(why_cpu ==
          "the library has kernels of cuda for tensors (query:key:value:output) of f16:f16:f16:f16, none for "
          "f32:f32:f32:f32");
    call.isa = nullptr;
    {
        const environment_variable forced("HEED_ISA", "opencl");  // of a device: narrows down, and is none for the CPU
        CHECK(answer(call, heed::status_code::ok) == "");
        CHECK(why_cpu == "the library has no kernel of opencl for the pass \"forward\"");
    }
    {
        const environment_variable forced("HEED_ISA", "x86_64");  // of the CPU: for the CPU
        variant.description.kernels = variant.kernels + 1;
        variant.description.kernel_count = 3;
        CHECK(answer(call, heed::status_code::ok) == "");
        CHECK(std::string(control.isa.load()) == "x86_64");
        CHECK(why_cpu == "the library has no kernel of a GPU for the pass \"forward\"");
    }
    call.isa = "vulkan";
    call.memory = device_kind::cuda;
    CHECK(answer(call, heed::status_code::invalid_argument) ==
          "mha: instruction set \"vulkan\" (option 'isa' of the call) is not one of cuda, in whose memory the tensors "
          "lie. Fix: leave 'isa' out, or name one of that device");
    CHECK(p.error(false) < 1e-6);
}

TEST_CASE("why_cpu is of this call, also where it is refused") {
    problem p = problem::mha(1, 2, 2);
    std::string why_cpu = "of an earlier call";
    heed::call_options options;
    options.why_cpu = &why_cpu;
    p.key = {p.k.data(), {1, 3, 2, 4}};
    CHECK(!models::mha.try_run(p.query, p.key, p.value, p.output, options).ok());
    CHECK(why_cpu == "");
    heed::call_arguments call = arguments_of(p, fake_kernels.variants[1]);
    why_cpu = "of an earlier call";
    call.why_cpu = &why_cpu;
    call.variant = nullptr;
    CHECK(!heed::try_run(call).ok());
    CHECK(why_cpu == "");
}

TEST_CASE("copies of strided tensors") {
    using heed::detail::axis;
    // (4, 3, 2) innermost first, in rows of 6 with gaps; packed and back.
    const std::vector<float> from = some_numbers(60, 3);
    axis strided[] = {{4, 1}, {3, 6}, {2, 30}}, dense[3];
    std::copy(strided, strided + 3, dense);
    CHECK(heed::detail::make_dense(dense, 3) == 24);
    std::vector<float> packed(24), back(60, untouched);
    const auto bytes = [](auto &of) { return reinterpret_cast<char *>(of.data()); };
    heed::detail::copy_elements(bytes(packed), dense, reinterpret_cast<const char *>(from.data()), strided, 3, 4);
    heed::detail::copy_elements(bytes(back), strided, bytes(packed), dense, 3, 4);
    for (int i = 0; i < 60; ++i) {
        const bool is_element = i % 30 % 6 < 4 && i % 30 < 18;
        CHECK(back[static_cast<std::size_t>(i)] == (is_element ? from[static_cast<std::size_t>(i)] : untouched));
    }
    // Rows whose elements do not lie together, of two bytes.
    const std::vector<std::int16_t> pairs{0, 1, 2, 3, 4, 5};
    axis every_other[] = {{3, 2}}, together[] = {{3, 1}};
    std::vector<std::int16_t> odd(3);
    heed::detail::copy_elements(bytes(odd), together, reinterpret_cast<const char *>(pairs.data() + 1), every_other, 1,
                                2);
    CHECK(odd == std::vector<std::int16_t>{1, 3, 5});
    // One element, and none.
    heed::detail::copy_elements(bytes(odd), together, reinterpret_cast<const char *>(pairs.data()), every_other, 0, 2);
    CHECK(odd[0] == 0);
    axis none[] = {{0, 1}};
    heed::detail::copy_elements(bytes(odd), none, reinterpret_cast<const char *>(pairs.data() + 4), none, 1, 2);
    CHECK(odd[0] == 0);
}

TEST_CASE("rows without gaps are copied out of a packed buffer") {
    using heed::detail::axis;
    constexpr std::int64_t rows = 50, row = 64, wide = 3 * row;  // query, key and value
    std::vector<float> from(static_cast<std::size_t>(rows * wide)), to(static_cast<std::size_t>(rows * row));
    std::iota(from.begin(), from.end(), 0.0f);
    const axis strided[] = {{row, 1}, {rows, wide}}, dense[] = {{row, 1}, {rows, row}};
    heed::detail::copy_elements(reinterpret_cast<char *>(to.data()), dense, reinterpret_cast<const char *>(from.data()),
                                strided, 2, 4);
    for (std::int64_t i = 0; i < rows * row; ++i) {
        CHECK(to[static_cast<std::size_t>(i)] == static_cast<float>(i / row * wide + i % row));
    }
}
