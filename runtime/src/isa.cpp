// SPDX-License-Identifier: MIT

#include <heed/isa.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include <heed/device.hpp>
#include <heed/untyped_call.hpp>

#include "device_kernel.hpp"
#include "text.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace heed {
namespace {

#if defined(__x86_64__)

bool has_f16c() noexcept {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// The compiler's test includes whether the operating system saves the registers.
bool has_avx2() noexcept { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c(); }

bool has_avx512() noexcept {
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

constexpr bool is_x86_64 = true, is_arm_64 = false;

#else

bool has_avx2() noexcept { return false; }
bool has_avx512() noexcept { return false; }
constexpr bool is_x86_64 = false;
#if defined(__aarch64__)
constexpr bool is_arm_64 = true;
#else
constexpr bool is_arm_64 = false;
#endif

#endif

bool is(const char *a, const char *b) noexcept { return std::strcmp(a, b) == 0; }

bool is_of_device(const char *isa) noexcept {
    return std::any_of(std::begin(device_isa_names), std::end(device_isa_names),
                       [isa](const char *name) { return is(name, isa); });
}

/// The levels that pass `test`, as a list for a message.
template <typename Test>
std::string list_of_levels(Test test) {
    std::string list;
    const auto add = [&](const char *name) {
        if (test(name)) {
            list += list.empty() ? "" : ", ";
            list += name;
        }
    };
    std::for_each(std::begin(isa_names), std::end(isa_names), add);
    std::for_each(std::begin(device_isa_names), std::end(device_isa_names), add);
    return list.empty() ? "none" : list;
}

/// The kernels that may serve a call, but for the instruction set.
struct kernel_filter {
    const variant_description &variant;
    const char *pass;
    const tensor_types *types;
    std::int64_t q_len;
    const char *schedule;

    /// The first that suits the number of queries; if none does, the last, which is for more of them.
    const kernel_description *with(const char *isa) const noexcept {
        const kernel_description *last = nullptr;
        for (int i = 0; i < variant.kernel_count; ++i) {
            const kernel_description &kernel = variant.kernels[i];
            if (is(kernel.isa, isa) && is(kernel.pass, pass) && (types == nullptr || serves(kernel)) &&
                (schedule == nullptr || is(kernel.schedule, schedule))) {
                last = &kernel;
                if (suits(kernel, q_len)) {
                    return last;
                }
            }
        }
        return last;
    }

    /// Weights do not depend on values, and what is stored in a cache on no output.
    bool serves(const kernel_description &kernel) const noexcept {
        return kernel.types.query == types->query && kernel.types.key == types->key &&
               (is(pass, "weights") || kernel.types.value == types->value) &&
               (is(pass, "append") || kernel.types.output == types->output);
    }

    bool holds_any() const noexcept {
        const auto holds = [this](const char *name) { return with(name) != nullptr; };
        return std::any_of(std::begin(isa_names), std::end(isa_names), holds) ||
               std::any_of(std::begin(device_isa_names), std::end(device_isa_names), holds);
    }
};

bool can_run(const kernel_description &kernel) {
    return kernel.device == device_kind::cpu ? isa_available(kernel.isa) : why_unusable(kernel).empty();
}

[[noreturn]] void refuse_forced(const kernel_filter &kernels, const char *isa, const char *origin) {
    const auto held = [&](const char *name) { return kernels.with(name) != nullptr; };
    const auto usable = [&](const char *name) { return held(name) && can_run(*kernels.with(name)); };
    const bool known = list_of_levels([&](const char *name) { return is(name, isa); }) != "none";
    const std::string reason = !known              ? "is not the name of an instruction set"
                               : !held(isa)        ? "is not among the targets that the library was built for"
                               : is_of_device(isa) ? "cannot be used: " + why_unusable(*kernels.with(isa))
                                                   : "is not supported by this CPU";
    throw unsupported_error(
        detail::text(kernels.variant.name, ": instruction set \"", isa, "\" (", origin, ") ", reason,
                     ". Names: ", list_of_levels([&](const char *name) { return held(name) || !is_of_device(name); }),
                     "; in the library: ", list_of_levels(held), "; usable here: ", list_of_levels(usable),
                     ". Fix: choose a usable one, or none to get the best."));
}

}  // namespace

bool isa_available(const char *name) noexcept {
    static const bool avx2 = has_avx2();
    static const bool avx512 = has_avx512();
    if (name == nullptr) {
        return false;
    }
    return (is(name, "avx512") && avx512) || (is(name, "avx2") && avx2) || (is(name, "x86_64") && is_x86_64) ||
           (is(name, "neon") && is_arm_64);
}

const kernel_description &choose_kernel(const variant_description &variant, const char *isa, const char *pass,
                                        const tensor_types *types, std::int64_t q_len, const char *schedule) {
    kernel_filter kernels{variant, pass, types, q_len, schedule};
    if (schedule != nullptr && !kernels.holds_any()) {
        kernels.schedule = nullptr;
        if (kernels.holds_any()) {
            throw unsupported_error(detail::text(variant.name, ": the library has no schedule \"", schedule,
                                                 "\" for the pass \"", pass,
                                                 "\". Fix: add it to SCHEDULES of heed_add_kernels, or leave it out."));
        }
    }
    if (!kernels.holds_any()) {
        // What the argument check then says of the types is more to the point.
        kernels.types = nullptr;
        if (variant.kernel_count > 0 && !kernels.holds_any()) {
            throw unsupported_error(detail::text(
                variant.name, ": the library has no kernel for the pass \"", pass, "\". Fix: add ",
                is(pass, "append") ? "cached, which it is a part of," : "it", " to PASSES of heed_add_kernels."));
        }
    }
    const char *origin = "option 'isa' of the call";
    if (isa == nullptr || *isa == '\0') {
        isa = std::getenv("HEED_ISA");
        origin = "environment variable HEED_ISA";
    }
    if (isa != nullptr && *isa != '\0') {
        const kernel_description *kernel = kernels.with(isa);
        if (kernel == nullptr || !can_run(*kernel)) {
            refuse_forced(kernels, isa, origin);
        }
        return *kernel;
    }
    for (const char *name : isa_names) {
        if (isa_available(name)) {
            if (const kernel_description *kernel = kernels.with(name)) {
                return *kernel;
            }
        }
    }
    throw unsupported_error(detail::text(
        variant.name, ": this CPU cannot run any kernel of the library. In the library: ",
        list_of_levels([&](const char *name) { return kernels.with(name) != nullptr; }),
        "; this CPU has: ", list_of_levels([](const char *name) { return isa_available(name); }), ". Fix: add ",
        is_arm_64 ? "arm-64-linux" : "x86-64-linux", " to TARGETS of heed_add_kernels, or let calls prefer a GPU."));
}

namespace detail {

const kernel_description *find_device_kernel(const variant_description &variant, const char *pass,
                                             const tensor_types &types, std::int64_t q_len, const char *schedule,
                                             device_kind kind, std::string &reason) {
    const kernel_filter kernels{variant, pass, &types, q_len, schedule};
    reason.clear();
    for (const char *name : device_isa_names) {
        const kernel_description *kernel = kernels.with(name);
        if (kernel == nullptr || (kind != device_kind::cpu && kernel->device != kind)) {
            continue;
        }
        const std::string unusable = why_unusable(*kernel);
        if (unusable.empty()) {
            return kernel;
        }
        reason += text(reason.empty() ? "" : "; ", name, ": ", unusable);
    }
    if (reason.empty()) {
        reason = text("the library has no kernel of ", kind == device_kind::cpu ? "a GPU" : name_of(kind),
                      " for the pass \"", pass, "\" and these types of tensors");
    }
    return nullptr;
}

}  // namespace detail

}  // namespace heed
