// SPDX-License-Identifier: MIT

#include <heed/isa.hpp>

#include <cstdlib>
#include <cstring>
#include <string>

#include <heed/untyped_call.hpp>

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

constexpr bool is_x86_64 = true;

#else

bool has_avx2() noexcept { return false; }
bool has_avx512() noexcept { return false; }
constexpr bool is_x86_64 = false;

#endif

bool is(const char *a, const char *b) noexcept { return std::strcmp(a, b) == 0; }

/// The levels that pass `test`, as a list for a message.
template <typename Test>
std::string list_of_levels(Test test) {
    std::string list;
    for (const char *name : isa_names) {
        if (test(name)) {
            list += list.empty() ? "" : ", ";
            list += name;
        }
    }
    return list.empty() ? "none" : list;
}

const kernel_description *find_kernel(const variant_description &variant, const char *isa) noexcept {
    for (int i = 0; i < variant.kernel_count; ++i) {
        if (is(variant.kernels[i].isa, isa)) {
            return &variant.kernels[i];
        }
    }
    return nullptr;
}

[[noreturn]] void refuse_forced(const variant_description &variant, const char *isa, const char *origin) {
    const auto held = [&](const char *name) { return find_kernel(variant, name) != nullptr; };
    const auto usable = [&](const char *name) { return held(name) && isa_available(name); };
    const bool known = list_of_levels([&](const char *name) { return is(name, isa); }) != "none";
    const char *reason = !known      ? "is not the name of an instruction set"
                         : held(isa) ? "is not supported by this CPU"
                                     : "is not among the targets that the library was built for";
    throw unsupported_error(detail::text(
        variant.name, ": instruction set \"", isa, "\" (", origin, ") ", reason,
        ". Names: ", list_of_levels([](const char *) { return true; }), "; in the library: ", list_of_levels(held),
        "; usable here: ", list_of_levels(usable), ". Fix: choose a usable one, or none to get the best."));
}

}  // namespace

bool isa_available(const char *name) noexcept {
    static const bool avx2 = has_avx2();
    static const bool avx512 = has_avx512();
    if (name == nullptr) {
        return false;
    }
    return (is(name, "avx512") && avx512) || (is(name, "avx2") && avx2) || (is(name, "x86_64") && is_x86_64);
}

const kernel_description &choose_kernel(const variant_description &variant, const char *isa) {
    const char *origin = "option 'isa' of the call";
    if (isa == nullptr || *isa == '\0') {
        isa = std::getenv("HEED_ISA");
        origin = "environment variable HEED_ISA";
    }
    if (isa != nullptr && *isa != '\0') {
        const kernel_description *kernel = isa_available(isa) ? find_kernel(variant, isa) : nullptr;
        if (kernel == nullptr) {
            refuse_forced(variant, isa, origin);
        }
        return *kernel;
    }
    for (const char *name : isa_names) {
        if (isa_available(name)) {
            if (const kernel_description *kernel = find_kernel(variant, name)) {
                return *kernel;
            }
        }
    }
    throw unsupported_error(
        detail::text(variant.name, ": this CPU cannot run any kernel of the library. In the library: ",
                     list_of_levels([&](const char *name) { return find_kernel(variant, name) != nullptr; }),
                     "; this CPU has: ", list_of_levels([](const char *name) { return isa_available(name); }),
                     ". Fix: add x86-64-linux to TARGETS of heed_add_kernels."));
}

}  // namespace heed
