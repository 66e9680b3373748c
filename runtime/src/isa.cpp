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

/// Whether the name is one of this kind of device.
bool is_of(device_kind kind, const char *isa) noexcept {
    return std::strncmp(isa, name_of(kind), std::strlen(name_of(kind))) == 0;
}

/// What callers may write for any level of CUDA.
constexpr const char *any_of_cuda = name_of(device_kind::cuda);

/// Whether callers who write `isa` mean this level, too.
bool names(const char *isa, const char *level) noexcept {
    return is(isa, level) || (is(isa, any_of_cuda) && is_of(device_kind::cuda, level));
}

bool is_of_cpu(const char *isa) noexcept {
    return std::any_of(std::begin(isa_names), std::end(isa_names), [isa](const char *level) { return is(level, isa); });
}

bool is_of_device(const char *isa) noexcept {
    return std::any_of(std::begin(device_isa_names), std::end(device_isa_names),
                       [isa](const char *level) { return names(isa, level); });
}

/// The best that passes `test`, those of CPUs first; null if none does.
template <typename Test>
const char *first_level(Test test) {
    if (const auto *found = std::find_if(std::begin(isa_names), std::end(isa_names), test);
        found != std::end(isa_names)) {
        return *found;
    }
    const auto *found = std::find_if(std::begin(device_isa_names), std::end(device_isa_names), test);
    return found != std::end(device_isa_names) ? *found : nullptr;
}

/// The names that pass `test`, as a list for a message.
template <typename Test>
std::string list_of_names(Test test) {
    std::string list;
    const auto add = [&](const char *name) {
        if (test(name)) {
            list += list.empty() ? "" : ", ";
            list += name;
        }
    };
    std::for_each(std::begin(isa_names), std::end(isa_names), add);
    add(any_of_cuda);
    std::for_each(std::begin(device_isa_names), std::end(device_isa_names), add);
    return list.empty() ? "none" : list;
}

/// The kernels that may serve a call, but for the instruction set.
struct kernel_filter {
    const variant_description &variant;
    const char *pass;           ///< null: any
    const tensor_types *types;  ///< null: any
    std::int64_t q_len;
    const char *schedule;  ///< null: any

    /// The first that suits the number of queries; if none does, the last, which is for more of them.
    const kernel_description *with(const char *level) const noexcept {
        const kernel_description *last = nullptr;
        for (int i = 0; i < variant.kernel_count; ++i) {
            const kernel_description &kernel = variant.kernels[i];
            if (is(kernel.isa, level) && (pass == nullptr || is(kernel.pass, pass)) &&
                (types == nullptr || serves(kernel)) && (schedule == nullptr || is(kernel.schedule, schedule))) {
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
        return first_level([this](const char *level) { return with(level) != nullptr; }) != nullptr;
    }

    bool holds(const char *isa) const noexcept {
        return first_level([&](const char *level) { return names(isa, level) && with(level) != nullptr; }) != nullptr;
    }
};

std::string text_of(const tensor_types &types) {
    return detail::text(name_of(types.query), ":", name_of(types.key), ":", name_of(types.value), ":",
                        name_of(types.output));
}

bool devices_have(const char *pass) noexcept { return is(pass, "forward"); }

/// The levels that a call may use: of one device or of any, or what an `isa` names.
struct level_set {
    const char *isa;  ///< or null
    device_kind kind;

    bool has(const char *level) const noexcept {
        return (isa != nullptr ? names(isa, level) : is_of_device(level)) &&
               (kind == device_kind::cpu || is_of(kind, level));
    }
    const kernel_description *first_of(const kernel_filter &kernels) const noexcept {
        const char *const level =
            first_level([&](const char *each) { return has(each) && kernels.with(each) != nullptr; });
        return level != nullptr ? kernels.with(level) : nullptr;
    }
    std::string text() const { return isa != nullptr ? isa : kind != device_kind::cpu ? name_of(kind) : "a GPU"; }
    std::string target() const {
        return isa == nullptr && kind == device_kind::cpu        ? "cuda, opencl or vulkan"
               : isa != nullptr && is_of(device_kind::cuda, isa) ? "cuda, or cuda with a capability,"
                                                                 : text();
    }
};

struct refusal {
    std::string reason, fix;
};

/// Why the library has no kernel for the call among these levels, whatever this machine can run.
refusal explain_lack(const kernel_filter &kernels, const level_set &levels) {
    using detail::text;
    kernel_filter of_any_schedule = kernels;
    of_any_schedule.schedule = nullptr;
    kernel_filter of_any_type = of_any_schedule;
    of_any_type.types = nullptr;
    if (kernels.schedule != nullptr && levels.first_of(of_any_schedule) != nullptr) {
        return {text("the library has no kernel of ", levels.text(), " with the schedule \"", kernels.schedule,
                     "\" for the pass \"", kernels.pass, "\""),
                "leave the schedule out or add it to SCHEDULES of heed_add_kernels"};
    }
    if (const kernel_description *other = levels.first_of(of_any_type)) {
        return {text("the library has kernels of ", levels.text(), " for tensors (query:key:value:output) of ",
                     text_of(other->types), ", none for ", text_of(*kernels.types)),
                "pass tensors of such types or add theirs to DTYPES of heed_add_kernels"};
    }
    const bool is_for_cpu = levels.isa != nullptr && is_of_cpu(levels.isa);
    return {text("the library has no kernel of ", levels.text(), " for the pass \"", kernels.pass, "\""),
            is_for_cpu                   ? "add the pass to PASSES of heed_add_kernels"
            : devices_have(kernels.pass) ? text("add ", levels.target(), " to TARGETS of heed_add_kernels")
                                         : "call it for the CPU, devices have the pass \"forward\" only"};
}

bool can_run(const kernel_description &kernel) {
    return kernel.device == device_kind::cpu ? isa_available(kernel.isa) : why_unusable(kernel).empty();
}

/// Of a name that names no kernel which can run the call here.
refusal explain_forced(const kernel_filter &kernels, const char *isa) {
    const std::string best = "choose a usable one, or none to get the best";
    if (!is_of_cpu(isa) && !is_of_device(isa)) {
        return {"is not the name of an instruction set", best};
    }
    if (kernels.holds(isa) && is_of_cpu(isa)) {
        return {"is not supported by this CPU", best};
    }
    if (kernels.holds(isa)) {
        // The last one named, since it asks least of the device.
        const kernel_description *least = nullptr;
        for (const char *level : device_isa_names) {
            const kernel_description *kernel = names(isa, level) ? kernels.with(level) : nullptr;
            least = kernel != nullptr ? kernel : least;
        }
        return {"cannot be used: " + why_unusable(*least), best};
    }
    if (!kernel_filter{kernels.variant, nullptr, nullptr, kernels.q_len, nullptr}.holds(isa)) {
        return {"is not among the targets that the library was built for", best};
    }
    const refusal lack = explain_lack(kernels, {isa, device_kind::cpu});
    return {"cannot be used: " + lack.reason, detail::text(lack.fix, "; or ", best)};
}

[[noreturn]] void refuse_forced(const kernel_filter &kernels, const char *isa, const char *origin) {
    const auto is_held = [&](const char *name) { return kernels.with(name) != nullptr; };
    const auto is_usable = [&](const char *name) { return is_held(name) && can_run(*kernels.with(name)); };
    const auto is_name = [&](const char *name) { return is_of_cpu(name) || kernels.holds(name); };
    const refusal why = explain_forced(kernels, isa);
    throw unsupported_error(detail::text(kernels.variant.name, ": instruction set \"", isa, "\" (", origin, ") ",
                                         why.reason, ". Names: ", list_of_names(is_name),
                                         "; in the library for such calls: ", list_of_names(is_held),
                                         "; usable here: ", list_of_names(is_usable), ". Fix: ", why.fix, "."));
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

namespace {

/// Refuses a schedule that no kernel has.
void check_schedule(const kernel_filter &kernels) {
    if (kernels.schedule == nullptr || kernels.holds_any()) {
        return;
    }
    kernel_filter of_any_schedule = kernels, of_any_type = kernels;
    of_any_schedule.schedule = of_any_type.schedule = nullptr;
    of_any_type.types = nullptr;
    const bool has_pass = of_any_type.holds_any();
    of_any_type.schedule = kernels.schedule;
    if (of_any_schedule.holds_any() || (has_pass && !of_any_type.holds_any())) {
        throw unsupported_error(detail::text(kernels.variant.name, ": the library has no schedule \"", kernels.schedule,
                                             "\" for the pass \"", kernels.pass,
                                             "\". Fix: add it to SCHEDULES of heed_add_kernels, or leave it out."));
    }
}

bool is_named(const char *isa) noexcept { return isa != nullptr && *isa != '\0'; }

/// What HEED_ISA says of this pass; null if nothing. It is there for all calls of a process, and a name of devices is
/// nothing to passes that only CPUs have.
const char *isa_of_environment(const char *pass) noexcept {
    const char *const isa = std::getenv("HEED_ISA");
    return is_named(isa) && (devices_have(pass) || !is_of_device(isa)) ? isa : nullptr;
}

constexpr const char *by_option = "option 'isa' of the call", *by_environment = "environment variable HEED_ISA";

/// The best of those that `isa` names.
const kernel_description &choose_named(const kernel_filter &kernels, const char *isa, const char *origin) {
    const char *const level = first_level([&](const char *each) {
        const kernel_description *kernel = names(isa, each) ? kernels.with(each) : nullptr;
        return kernel != nullptr && can_run(*kernel);
    });
    if (level == nullptr) {
        refuse_forced(kernels, isa, origin);
    }
    return *kernels.with(level);
}

const kernel_description &choose(kernel_filter kernels, const char *isa, const char *origin) {
    const variant_description &variant = kernels.variant;
    const char *const pass = kernels.pass;
    check_schedule(kernels);
    if (!kernels.holds_any()) {
        // What the argument check then says of the types is more to the point.
        kernels.types = nullptr;
        if (variant.kernel_count > 0 && !kernels.holds_any()) {
            throw unsupported_error(detail::text(
                variant.name, ": the library has no kernel for the pass \"", pass, "\". Fix: add ",
                is(pass, "append") ? "cached, which it is a part of," : "it", " to PASSES of heed_add_kernels."));
        }
    }
    if (isa != nullptr) {
        return choose_named(kernels, isa, origin);
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
        list_of_names([&](const char *name) { return kernels.with(name) != nullptr; }),
        "; this CPU has: ", list_of_names([](const char *name) { return isa_available(name); }), ". Fix: add ",
        is_arm_64 ? "arm-64-linux" : "x86-64-linux", " to TARGETS of heed_add_kernels, or let calls prefer a GPU."));
}

/// The name of what a device must run for a call, or null for the best.
const char *forced_device_isa(const detail::kernel_request &request, const kernel_filter &kernels) {
    const device_kind memory = request.memory;
    if (!is_named(request.isa)) {
        const char *const isa = isa_of_environment(request.pass);
        const bool counts = isa != nullptr && is_of_device(isa) && (memory == device_kind::cpu || is_of(memory, isa));
        return counts ? isa : nullptr;
    }
    if (!is_of_cpu(request.isa) && !is_of_device(request.isa)) {
        refuse_forced(kernels, request.isa, by_option);
    }
    if (memory == device_kind::cpu && is_of_cpu(request.isa)) {
        throw invalid_argument_error(detail::text(request.variant.name, ": instruction set \"", request.isa, "\" (",
                                                  by_option,
                                                  ") is one of CPUs, but the call asks for a GPU. Fix: leave one of "
                                                  "the two out, or name an instruction set of "
                                                  "a device: ",
                                                  list_of_names(is_of_device)));
    }
    if (memory != device_kind::cpu && !is_of(memory, request.isa)) {
        throw invalid_argument_error(detail::text(
            request.variant.name, ": instruction set \"", request.isa, "\" (", by_option, ") is not one of ",
            name_of(memory), ", in whose memory the tensors lie. Fix: leave 'isa' out, or name one of that device"));
    }
    return request.isa;
}

}  // namespace

const kernel_description &choose_kernel(const variant_description &variant, const char *isa, const char *pass,
                                        const tensor_types *types, std::int64_t q_len, const char *schedule) {
    const kernel_filter kernels{variant, pass, types, q_len, schedule};
    return is_named(isa) ? choose(kernels, isa, by_option) : choose(kernels, isa_of_environment(pass), by_environment);
}

namespace detail {

device_choice find_device_kernel(const kernel_request &request) {
    const kernel_filter kernels{request.variant, request.pass, &request.types, request.q_len, request.schedule};
    check_schedule(kernels);
    const level_set levels{forced_device_isa(request, kernels), request.memory};
    device_choice choice;
    for (const char *name : device_isa_names) {
        const kernel_description *kernel = levels.has(name) ? kernels.with(name) : nullptr;
        if (kernel == nullptr) {
            continue;
        }
        std::string unusable = why_unusable(*kernel, request.memory);
        const bool is_named = levels.isa != nullptr || request.memory != device_kind::cpu;
        if (unusable.empty() && !is_named && device_of(kernel->device).is_cpu) {
            unusable = text(device_of(kernel->device).name, " computes on the CPU, slower than kernels of the CPU");
        }
        if (unusable.empty()) {
            return {kernel, {}, {}};
        }
        choice.reason += text(choice.reason.empty() ? "" : "; ", name, ": ", unusable);
        choice.fix =
            request.memory == device_kind::cpu
                ? "install a driver for a device that can, add its kind to TARGETS of heed_add_kernels, or name by the "
                  "option 'isa' a driver that computes on the CPU"
            : request.memory == device_kind::cuda ? "make a context current whose GPU can"
                                                  : "run it where there is a device that can";
    }
    if (choice.reason.empty()) {
        const refusal lack = explain_lack(kernels, levels);
        return {nullptr, lack.reason, lack.fix};
    }
    return choice;
}

const kernel_description &find_cpu_kernel(const kernel_request &request) {
    const kernel_filter kernels{request.variant, request.pass, &request.types, request.q_len, request.schedule};
    const char *const isa = isa_of_environment(request.pass);
    return choose(kernels, isa != nullptr && !is_of_device(isa) ? isa : nullptr, by_environment);
}

}  // namespace detail

}  // namespace heed
