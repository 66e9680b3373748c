// SPDX-License-Identifier: MIT
//
// Kernels of devices against the reference, and what calls do where there is a device and where there is none. Without
// an OpenCL device the first part has nothing to run, see has_device.hpp.
#include <verify.hpp>

#include <heed/device.hpp>

#include "has_device.hpp"
#include "heed_device_kernels.hpp"
#include "on_gpu.hpp"

#include <HalideRuntime.h>
#include <HalideRuntimeVulkan.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <thread>
#include <vector>

using namespace heed::tests;
using heed::device_kind;
using heed::device_preference;

namespace {

bool documents_agree(const tensor<std::int32_t, 2> &document, const pair &at) {
    return document(at.batch, at.q) == document(at.batch, at.kv);
}

double mean_square(const row_values &row) {
    double sum = 0;
    for (const double element : row) sum += element * element;
    return sum / static_cast<double>(row.size());
}

/// Rotary positions of rows of 8.
void turn(row_values &row, const place &at) {
    for (std::size_t i = 0; i < 4; ++i) {
        const double angle = static_cast<double>(at.position) * std::pow(10'000.0, -static_cast<double>(i) / 4);
        const double a = row[i], b = row[i + 4];
        row[i] = a * std::cos(angle) - b * std::sin(angle);
        row[i + 4] = b * std::cos(angle) + a * std::sin(angle);
    }
}

void normalise(row_values &row) {
    const double root = std::sqrt(mean_square(row) + 1e-6);
    for (double &element : row) element /= root;
}

const std::vector<lengths> some_lengths{{1, 1}, {70, 130}, {65, 32}, {3, 0}};

/// Of OpenCL, also where it computes on the CPU.
heed::call_options options_with(device_preference device, std::string &why_cpu) {
    heed::call_options options;
    options.device = device;
    options.isa = "opencl";
    options.why_cpu = &why_cpu;
    return options;
}

/// A variant whose kernels of devices are changed.
struct changed_variant {
    std::vector<heed::kernel_description> kernels;
    heed::variant_description description;

    template <typename Change>
    changed_variant(const heed::variant_description &of, const Change &change)
        : kernels(of.kernels, of.kernels + of.kernel_count), description(of) {
        for (heed::kernel_description &kernel : kernels) {
            if (kernel.device != device_kind::cpu) change(kernel);
        }
        description.kernels = kernels.data();
    }
    changed_variant(const changed_variant &) = delete;
    changed_variant &operator=(const changed_variant &) = delete;
};

/// Of a kernel that keeps more than devices have.
void make_too_large(heed::kernel_description &kernel) {
    kernel.query_tile = 1 << 28;
    kernel.heads_per_tile = 1;
    kernel.block = {};
}

/// No more than this of address space can be allocated for the length of a scope.
class memory_limit {
  public:
    explicit memory_limit(std::size_t more_bytes) {
        getrlimit(RLIMIT_AS, &before_);
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        rlimit limit = before_;
        limit.rlim_cur = pages * 4096 + more_bytes;
        REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    }
    ~memory_limit() { setrlimit(RLIMIT_AS, &before_); }
    memory_limit(const memory_limit &) = delete;
    memory_limit &operator=(const memory_limit &) = delete;

  private:
    rlimit before_;
};

}  // namespace

TEST_CASE("all keys, and keys that no row sees and that may hold anything") {
    if (!has_device()) return;
    for (const lengths &sizes : some_lengths) {
        verify(kernels::dense, sizes);
        for (const float poison : {1.0f, not_a_number, infinity}) {
            problem of(kernels::odd.description(), sizes);
            for_each_index<4>(of.key.extents(), [&](const auto &index) {
                if (index[2] % 7 == 3) of.key[index] = poison;
            });
            for_each_index<4>(of.value.extents(), [&](const auto &index) {
                if (index[2] % 7 == 3) of.value[index] = poison;
            });
            verify(kernels::odd, of, {.attends = [](const pair &at) { return causal(at) && at.kv % 7 != 3; }});
        }
    }
}

TEST_CASE("a value that is not finite reaches the rows that see it") {
    if (!has_device()) return;
    problem of(kernels::odd.description(), {70, 70, 1});
    of.value(0, 1, 40, 2) = not_a_number;
    of.value(0, 0, 20, 5) = infinity;
    verify(kernels::odd, of, {.attends = [](const pair &at) { return causal(at) && at.kv % 7 != 3; }});
}

TEST_CASE("tiles are skipped by documents") {
    if (!has_device()) return;
    tensor<std::int32_t, 2> document({2, 200});
    for_each_index<2>(document.extents(), [&](const auto &index) {
        document[index] = static_cast<std::int32_t>((index[1] + 13 * index[0]) / 45);
    });
    verify(kernels::documents, lengths{200, 200}, {document.view()},
           {.attends = [&](const pair &at) { return documents_agree(document, at); },
            .query_start = [](std::int64_t) { return 0; }});
}

TEST_CASE("a term of the denominator that is far above, and far below, the scores") {
    if (!has_device()) return;
    tensor<float, 1> sinks({4});
    const float logits[] = {0.5f, 30.0f, -30.0f, -infinity};
    for (std::int64_t head = 0; head < 4; ++head) sinks(head) = logits[head];
    verify(kernels::sink, lengths{70, 100}, {sinks.view()},
           {.attends = causal, .sink = [&](std::int64_t, std::int64_t head) { return double{sinks(head)}; }});
}

TEST_CASE("queries, keys, values and results change on their way") {
    if (!has_device()) return;
    verify(kernels::changed, lengths{70, 150},
           {.attends = [](const pair &at) { return causal(at) && in_window(at, 70); },
            .modify_query =
                [](row_values &row, const place &at) {
                    normalise(row);
                    turn(row, at);
                },
            .modify_key = turn,
            .modify_value =
                [](row_values &row, const place &) {
                    const double mean = (row[0] + row[1] + row[2]) / 3;
                    for (double &element : row) element -= mean;
                },
            .modify_output =
                [](row_values &row, const place &) {
                    const row_values old = row;
                    for (std::size_t d = 0; d < 3; ++d) row[d] = old[(d + 1) % 3] / (std::sqrt(mean_square(old)) + 1);
                }});
}

TEST_CASE("views of any strides, and memory between their elements stays as it was") {
    if (!has_device()) return;
    problem of(kernels::dense.description(), {33, 40});
    const results expected = run(kernels::dense, of, {}, {"x86_64", "prefill"}, 1);
    // Heads behind each other in a row of their own; rows in reverse order; one key for all batches.
    problem elsewhere = of;
    elsewhere.query = of.query.with_strides({792, 9, 24, 1});
    elsewhere.key = of.key.with_strides({-640, 320, 8, 1});
    results got(of);
    got.output = tensor<float, 4>(got.output.extents(), {660, 10, 20, 1});
    got.log_sum_exp = tensor<float, 3>(got.log_sum_exp.extents(), {80, 1, 2});
    std::string why_cpu;
    heed::call_options options = options_with(device_preference::gpu, why_cpu);
    options.log_sum_exp = got.log_sum_exp.view();
    kernels::dense(elsewhere.query.view(), elsewhere.key.view(), of.value.view(), got.output.view(), options);
    for_each_index<4>(of.query.extents(), [&](const auto &index) {
        CHECK(got.output[index] == doctest::Approx(expected.output[index]).epsilon(1e-5));
    });
    CHECK(got.output.untouched());
    CHECK(got.log_sum_exp.untouched());
}

TEST_CASE("a call that prefers a GPU runs there, and says nothing") {
    if (!has_device()) return;
    problem of(kernels::dense.description(), {5, 9});
    results got(of);
    std::string why_cpu = "not asked";
    const auto status = kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                               options_with(device_preference::gpu_else_cpu, why_cpu));
    CHECK(status.message() == "");
    CHECK(why_cpu == "");
}

TEST_CASE("the call that the README shows computes what the CPU does, with a GPU or without") {
    const problem of(kernels::dense.description(), {5, 9});
    const results expected = run(kernels::dense, of, {}, {"x86_64", "prefill"}, 1);
    results got(of);
    attend(of.query.view(), of.key.view(), of.value.view(), got.output.view());
    for_each_index<4>(got.output.extents(), [&](const auto &index) {
        CHECK(got.output[index] == doctest::Approx(expected.output[index]).epsilon(1e-5));
    });
    CHECK(got.output.untouched());
}

TEST_CASE("calls from several threads at a time") {
    if (!has_device()) return;
    const problem of(kernels::odd.description(), {40, 50});
    const results expected = run(kernels::odd, of, {}, {"opencl", "prefill"}, 1);
    std::vector<results> got(4, results(of));
    std::vector<std::thread> threads;
    threads.reserve(got.size());
    for (results &each : got) threads.emplace_back([&] { each = run(kernels::odd, of, {}, {"opencl", "prefill"}, 1); });
    for (std::thread &thread : threads) thread.join();
    for (const results &each : got) CHECK(same_bits(each.output, expected.output));
}

TEST_CASE("calls of several variants from several threads at a time, some of which fail") {
    if (!has_device()) return;
    const auto on_opencl = [](const auto &kernel, const problem &of) {
        return run(kernel, of, {}, {"opencl", "prefill"}, 1);
    };
    const problem of_odd(kernels::odd.description(), {40, 50}), of_dense(kernels::dense.description(), {33, 70}),
        of_changed(kernels::changed.description(), {20, 90});
    const results odd = on_opencl(kernels::odd, of_odd), dense = on_opencl(kernels::dense, of_dense),
                  changed = on_opencl(kernels::changed, of_changed);
    const changed_variant failing(kernels::dense.description(), [](heed::kernel_description &kernel) {
        kernel.run = [](void **arguments) {
            halide_error(*static_cast<void **>(arguments[0]), "as it was told to");
            return -17;
        };
    });
    const changed_variant too_large(kernels::dense.description(), make_too_large);
    std::atomic<int> wrong{0}, not_refused{0};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int first = 0; first < 4; ++first) {
        threads.emplace_back([&, first] {
            for (int turn = first; turn < first + 8; ++turn) {
                if (turn % 4 == 0) {
                    wrong += !same_bits(on_opencl(kernels::odd, of_odd).output, odd.output);
                } else if (turn % 4 == 1) {
                    wrong += !same_bits(on_opencl(kernels::dense, of_dense).output, dense.output);
                } else if (turn % 4 == 2) {
                    wrong += !same_bits(on_opencl(kernels::changed, of_changed).output, changed.output);
                } else {
                    for (const auto &[variant, code] : {std::pair(&failing, heed::status_code::kernel_failed),
                                                        {&too_large, heed::status_code::invalid_argument}}) {
                        results got(of_dense);
                        heed::call_options options;
                        options.isa = "opencl";
                        const auto status = heed::attention_kernel<>(variant->description)
                                                .try_run(of_dense.query.view(), of_dense.key.view(),
                                                         of_dense.value.view(), got.output.view(), options);
                        not_refused += status.code() != code;
                    }
                }
            }
        });
    }
    for (std::thread &thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(not_refused == 0);
}

TEST_CASE("what a device cannot count, and copies that there is no memory for, the CPU computes") {
    if (!has_device()) return;
    std::string why_cpu;
    SUBCASE("too much to keep") {
        const changed_variant too_large(kernels::dense.description(), make_too_large);
        const heed::attention_kernel<> kernel(too_large.description);
        const problem of(kernels::dense.description(), {5, 9});
        results got(of);
        const auto call = [&](device_preference device) {
            return kernel.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                  options_with(device, why_cpu));
        };
        const heed::status refused = call(device_preference::gpu);
        CHECK(refused.code() == heed::status_code::invalid_argument);
        CHECK(refused.message().find("keeps the state of all rows meanwhile") != std::string::npos);
        for_each_index<4>(got.output.extents(), [&](const auto &index) { CHECK(std::isnan(got.output[index])); });
        CHECK(call(device_preference::gpu_else_cpu).message() == "");
        CHECK(why_cpu == refused.message());
        for_each_index<4>(got.output.extents(), [&](const auto &index) { CHECK(!std::isnan(got.output[index])); });
    }
#ifndef __SANITIZE_ADDRESS__
    SUBCASE("copies of rows that repeat") {
        const problem of(kernels::dense.description(), {1, 1, 1});
        results got(of);
        constexpr std::int64_t many = 1 << 22;  // 256 MB as dense rows
        const heed::view<const float, 4> keys{of.key.view().data(), {1, 2, many, 8}, {0, 8, 0, 1}};
        const heed::view<const float, 4> values{of.value.view().data(), {1, 2, many, 8}, {0, 8, 0, 1}};
        const memory_limit limit(64 << 20);
        const auto call = [&](device_preference device) {
            return kernels::dense.try_run(of.query.view(), keys, values, got.output.view(),
                                          options_with(device, why_cpu));
        };
        CHECK(call(device_preference::gpu).code() == heed::status_code::out_of_memory);
        CHECK(call(device_preference::gpu_else_cpu).message() == "");
        CHECK(why_cpu == "out of memory for copies of tensors");
        for_each_index<4>(got.output.extents(), [&](const auto &index) {
            CHECK(got.output[index] == doctest::Approx(of.value(0, index[1], 0, index[3])).epsilon(1e-4));
        });
    }
#endif
}

TEST_CASE("a call that is refused writes nothing") {
    problem of(kernels::dense.description(), {5, 9});
    const problem wrong(kernels::sink.description(), {5, 9});
    results got(of);
    std::string why_cpu;
    const auto status = kernels::dense.try_run(wrong.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                               options_with(device_preference::gpu_else_cpu, why_cpu));
    CHECK(status.code() == heed::status_code::invalid_argument);
    for_each_index<4>(got.output.extents(), [&](const auto &index) { CHECK(std::isnan(got.output[index])); });
}

TEST_CASE("a driver that computes on the CPU runs only calls that name it") {
    const bool all_on_cpu = std::all_of(heed::devices().begin(), heed::devices().end(),
                                        [](const heed::device &each) { return !each.available || each.is_cpu; });
    if (!has_device() || !all_on_cpu) return;
    const problem of(kernels::dense.description(), {5, 9});
    results got(of);
    const auto call = [&](device_preference device, std::string &why_cpu) {
        heed::call_options options = options_with(device, why_cpu);
        options.isa = nullptr;
        return kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(), options);
    };
    std::string why_cpu;
    const std::string expected = heed::device_of(device_kind::opencl).name + " computes on the CPU";
    const heed::status refused = call(device_preference::gpu, why_cpu);
    CHECK(refused.code() == heed::status_code::unsupported);
    CHECK_MESSAGE(refused.message().find(expected) != std::string::npos, refused.message());
    CHECK(call(device_preference::gpu_else_cpu, why_cpu).message() == "");
    CHECK_MESSAGE(why_cpu.find(expected) != std::string::npos, why_cpu);
}

TEST_CASE("Vulkan computes the same after somebody has released its device") {
    if (!has_device(device_kind::vulkan)) return;
    const problem of(kernels::odd.description(), {70, 130});
    const results expected = run(kernels::odd, of, {}, {"vulkan", "prefill"}, 1);
    halide_device_release(nullptr, halide_vulkan_device_interface());
    for (const lengths &sizes : {lengths{17, 33}, {5, 40}, {33, 65}}) {
        verify(kernels::odd, sizes, {.attends = [](const pair &at) { return causal(at) && at.kv % 7 != 3; }});
    }
    CHECK(same_bits(run(kernels::odd, of, {}, {"vulkan", "prefill"}, 1).output, expected.output));
}

TEST_CASE("a driver of Vulkan that computes on the CPU gets no more keys than its loops have turns for") {
    if (!has_device(device_kind::vulkan) || !heed::device_of(device_kind::vulkan).is_cpu) return;
    const problem of(kernels::dense.description(), {1, 20'000});
    results got(of);
    std::string why_cpu;
    heed::call_options options = options_with(device_preference::gpu_else_cpu, why_cpu);
    options.isa = "vulkan";
    options.schedule = "prefill";
    CHECK(
        kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(), options).message() ==
        "");
    CHECK_MESSAGE(why_cpu.find("has loops in each thread") != std::string::npos, why_cpu);
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator does not survive a fork
TEST_CASE("a process that is forked after drivers were used is refused, or computes on the CPU") {
    for (const device_kind kind : {device_kind::opencl, device_kind::vulkan}) {
        if (!has_device(kind)) continue;
        CAPTURE(heed::name_of(kind));
        const problem of(kernels::dense.description(), {5, 9});
        const results expected = run(kernels::dense, of, {}, {heed::name_of(kind), "prefill"}, 1);
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);
            results got(of);
            std::string why_cpu;
            const auto call = [&](device_preference device) {
                heed::call_options options = options_with(device, why_cpu);
                options.isa = heed::name_of(kind);
                return kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                              options);
            };
            heed::release_device_memory();
            const bool refused = call(device_preference::gpu).code() == heed::status_code::unsupported;
            const bool done = call(device_preference::gpu_else_cpu).message().empty();
            const bool told = why_cpu.find("forked after their first use") != std::string::npos;
            _exit(refused && done && told ? 0 : 1);
        }
        int result = -1;
        CHECK(waitpid(child, &result, 0) == child);
        CHECK(result == 0);
        CHECK(same_bits(run(kernels::dense, of, {}, {heed::name_of(kind), "prefill"}, 1).output, expected.output));
    }
}
#endif

TEST_CASE("every kind of device is listed, with a name or a reason") {
    for (const heed::device &each : heed::devices()) {
        CHECK(each.kind != device_kind::cpu);
        CHECK(each.available == each.reason.empty());
        MESSAGE(std::string(heed::name_of(each.kind)), ": ", each.available ? each.name : each.reason);
    }
}

TEST_CASE("without a driver a call for a GPU is refused with the reason, and one that may use the CPU does") {
    const heed::device &opencl = heed::device_of(device_kind::opencl);
    CHECK(!opencl.available);
    problem of(kernels::dense.description(), {5, 9});
    results got(of);
    std::string why_cpu;
    const auto refused = kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                                options_with(device_preference::gpu, why_cpu));
    CHECK(refused.code() == heed::status_code::unsupported);
    CHECK(refused.message().find("dense: no GPU can run this call: ") == 0);
    CHECK(refused.message().find(opencl.reason) != std::string::npos);
    CHECK(refused.message().find("Fix: ") != std::string::npos);
    for_each_index<4>(got.output.extents(), [&](const auto &index) { CHECK(std::isnan(got.output[index])); });

    const auto done = kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(),
                                             options_with(device_preference::gpu_else_cpu, why_cpu));
    CHECK(done.message() == "");
    CHECK(why_cpu.find("opencl: " + opencl.reason) != std::string::npos);
    for_each_index<4>(got.output.extents(), [&](const auto &index) { CHECK(!std::isnan(got.output[index])); });

    heed::call_options forced;
    forced.isa = "opencl";
    const auto impossible =
        kernels::dense.try_run(of.query.view(), of.key.view(), of.value.view(), got.output.view(), forced);
    CHECK(impossible.code() == heed::status_code::unsupported);
    CHECK(impossible.message().find(opencl.reason) != std::string::npos);
}
