// SPDX-License-Identifier: MIT

#include <heed/device.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

#include "call_context.hpp"
#include "device_kernel.hpp"
#include "device_memory.hpp"
#include "halide_repairs.hpp"
#include "text.hpp"
#include "vulkan_context.hpp"

// Halide's runtime exports these without declaring them in a header.
extern "C" {
int halide_opencl_compute_capability(void *user_context, int *major, int *minor);
int halide_acquire_cl_context(void *user_context, void **context, void **queue, bool create);
int halide_release_cl_context(void *user_context);
void *halide_opencl_get_symbol(void *user_context, const char *name);
int halide_cuda_compute_capability(void *user_context, int *major, int *minor);
int halide_cuda_acquire_context(void *user_context, void **context, bool create);
int halide_cuda_release_context(void *user_context);
void *halide_cuda_get_symbol(void *user_context, const char *name);
int halide_vulkan_compute_capability(void *user_context, int *major, int *minor);
void *halide_vulkan_get_symbol(void *user_context, const char *name);
}

namespace heed {
namespace {

// What drivers say of the device that Halide has chosen; nothing where they do not answer.

void describe_opencl(device &found, void *user_context) {
    using get_info = int (*)(void *of, unsigned what, std::size_t size, void *into, std::size_t *needed);
    constexpr unsigned context_devices = 0x1081, device_name = 0x102b, device_memory = 0x101f, device_type = 0x1000;
    const auto of_context = reinterpret_cast<get_info>(halide_opencl_get_symbol(user_context, "clGetContextInfo"));
    const auto of_device = reinterpret_cast<get_info>(halide_opencl_get_symbol(user_context, "clGetDeviceInfo"));
    void *context = nullptr, *queue = nullptr, *id = nullptr;
    if (of_context == nullptr || of_device == nullptr ||
        halide_acquire_cl_context(user_context, &context, &queue, true) != 0) {
        return;
    }
    char name[256] = {};
    std::uint64_t bytes = 0, type = 0;
    constexpr std::uint64_t type_cpu = 2;
    if (context != nullptr && of_context(context, context_devices, sizeof id, &id, nullptr) == 0) {
        if (of_device(id, device_name, sizeof name - 1, name, nullptr) == 0) {
            found.name = name;
        }
        if (of_device(id, device_memory, sizeof bytes, &bytes, nullptr) == 0) {
            found.memory_bytes = static_cast<std::int64_t>(bytes);
        }
        found.is_cpu = of_device(id, device_type, sizeof type, &type, nullptr) == 0 && (type & type_cpu) != 0;
    }
    halide_release_cl_context(user_context);
}

void describe_cuda(device &found, void *user_context) {
    using get_device = int (*)(int *device);
    using get_name = int (*)(char *name, int length, int device);
    using get_memory = int (*)(std::size_t * bytes, int device);
    const auto of_context = reinterpret_cast<get_device>(halide_cuda_get_symbol(user_context, "cuCtxGetDevice"));
    const auto name_of = reinterpret_cast<get_name>(halide_cuda_get_symbol(user_context, "cuDeviceGetName"));
    const auto memory_of = reinterpret_cast<get_memory>(halide_cuda_get_symbol(user_context, "cuDeviceTotalMem_v2"));
    const auto make_current =
        reinterpret_cast<int (*)(void *)>(halide_cuda_get_symbol(user_context, "cuCtxPushCurrent_v2"));
    const auto leave = reinterpret_cast<int (*)(void **)>(halide_cuda_get_symbol(user_context, "cuCtxPopCurrent_v2"));
    void *context = nullptr;
    if (of_context == nullptr || name_of == nullptr || memory_of == nullptr || make_current == nullptr ||
        leave == nullptr || halide_cuda_acquire_context(user_context, &context, true) != 0) {
        return;
    }
    int number = 0;
    char name[256] = {};
    std::size_t bytes = 0;
    if (context != nullptr && make_current(context) == 0) {
        if (of_context(&number) == 0 && name_of(name, sizeof name - 1, number) == 0) {
            found.name = name;
        }
        if (memory_of(&bytes, number) == 0) {
            found.memory_bytes = static_cast<std::int64_t>(bytes);
        }
        leave(&context);
    }
    halide_cuda_release_context(user_context);
}

// The beginnings of Vulkan's VkPhysicalDeviceProperties and the whole of VkPhysicalDeviceMemoryProperties.

struct device_properties {
    std::uint32_t versions_and_ids[4], type;
    char name[256];
    char rest[1024];
};

struct memory_properties {
    std::uint32_t type_count;
    struct {
        std::uint32_t flags, heap;
    } types[32];
    std::uint32_t heap_count;
    struct {
        std::uint64_t bytes;
        std::uint32_t flags;
    } heaps[16];
};

constexpr std::uint32_t is_local_to_device = 1, type_cpu = 4;

void describe_vulkan(device &found, void *user_context) {
    using get_properties = void (*)(VkPhysicalDevice of, device_properties * into);
    using get_memory = void (*)(VkPhysicalDevice of, memory_properties * into);
    const auto properties_of =
        reinterpret_cast<get_properties>(halide_vulkan_get_symbol(user_context, "vkGetPhysicalDeviceProperties"));
    const auto memory_of =
        reinterpret_cast<get_memory>(halide_vulkan_get_symbol(user_context, "vkGetPhysicalDeviceMemoryProperties"));
    const detail::vulkan_context context(user_context);
    if (context.physical_device() == nullptr || properties_of == nullptr || memory_of == nullptr) {
        return;
    }
    device_properties properties = {};
    properties_of(context.physical_device(), &properties);
    found.name = properties.name;
    found.is_cpu = properties.type == type_cpu;
    memory_properties memory = {};
    memory_of(context.physical_device(), &memory);
    for (std::uint32_t i = 0; i < memory.heap_count; ++i) {
        if ((memory.heaps[i].flags & is_local_to_device) != 0) {
            found.memory_bytes += static_cast<std::int64_t>(memory.heaps[i].bytes);
        }
    }
}

/// Halide's runtime for Vulkan aborts where the loader finds no driver.
bool vulkan_has_driver(void *library) {
    struct {
        std::uint32_t type = 1;  // VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO
        const void *next = nullptr;
        std::uint32_t flags = 0;
        const void *application = nullptr;
        std::uint32_t layer_count = 0;
        const char *const *layers = nullptr;
        std::uint32_t extension_count = 0;
        const char *const *extensions = nullptr;
    } const wanted;
    using create_instance = int (*)(const void *wanted, const void *allocator, VkInstance *made);
    using enumerate = int (*)(VkInstance of, std::uint32_t * count, VkPhysicalDevice * into);
    using destroy_instance = void (*)(VkInstance of, const void *allocator);
    const auto create = reinterpret_cast<create_instance>(dlsym(library, "vkCreateInstance"));
    const auto devices_of = reinterpret_cast<enumerate>(dlsym(library, "vkEnumeratePhysicalDevices"));
    const auto destroy = reinterpret_cast<destroy_instance>(dlsym(library, "vkDestroyInstance"));
    VkInstance instance = nullptr;
    if (create == nullptr || devices_of == nullptr || destroy == nullptr || create(&wanted, nullptr, &instance) != 0) {
        return false;
    }
    std::uint32_t count = 0;
    const int result = devices_of(instance, &count, nullptr);
    destroy(instance, nullptr);
    return result == 0 && count > 0;
}

bool halide_finds_out(void *) { return true; }

/// How one kind is looked for.
struct search {
    device_kind kind;
    bool (*may_have_device)(void *library);
    int (*capability)(void *user_context, int *major, int *minor);
    void (*describe)(device &found, void *user_context);
    const char *library;
};

constexpr search searches[] = {
    {device_kind::cuda, halide_finds_out, halide_cuda_compute_capability, describe_cuda, "libcuda.so.1"},
    {device_kind::opencl, halide_finds_out, halide_opencl_compute_capability, describe_opencl, "libOpenCL.so.1"},
    {device_kind::vulkan, vulkan_has_driver, halide_vulkan_compute_capability, describe_vulkan, "libvulkan.so.1"}};

/// Null if there is none. Halide looks for names without a version, which drivers alone do not install; and among what
/// is open already.
void *open_driver(const search &how) { return dlopen(how.library, RTLD_LAZY | RTLD_GLOBAL); }

std::string no_driver(const search &how) {
    return detail::text("there is no driver: ", how.library, " cannot be opened");
}

device found_by(const search &how) {
    device found{how.kind, false, {}, 0, 0, {}};
    void *const library = open_driver(how);
    if (library == nullptr) {
        found.reason = no_driver(how);
        return found;
    }
    detail::install_halide_hooks();
    detail::call_context context;
    const detail::context_scope scope(&context);
    int major = 0, minor = 0;
    if (!how.may_have_device(library) || how.capability(&context, &major, &minor) != 0 || major <= 0 ||
        !context.error_text.empty()) {
        found.reason = detail::text("the driver ", how.library, " has no device",
                                    context.error_text.empty() ? "" : ": ", context.error_text);
        return found;
    }
    found.available = true;
    found.version = 10 * major + minor;
    how.describe(found, &context);
    detail::repair_halide(how.kind, &context);
    return found;
}

/// Of the process that used drivers first. Children that it forks then have what drivers keep, without their threads:
/// a call of them would wait forever.
pid_t process_of_drivers() {
    static const pid_t process = getpid();
    return process;
}

/// What the kernel needs and a device of this version lacks.
std::string why_too_old(const std::string &name, int version, const kernel_description &kernel) {
    if (version >= kernel.device_version) {
        return {};
    }
    return detail::text(name, " has version ", version / 10, ".", version % 10, ", the kernel was compiled for ",
                        kernel.device_version / 10, ".", kernel.device_version % 10);
}

/// Of the GPU whose context of CUDA is current in this thread. Halide makes no context of its own for it.
std::string why_unusable_in_current_context(const kernel_description &kernel) {
    const search &how = searches[0];
    static void *const library = open_driver(how);
    if (library == nullptr) {
        return no_driver(how);
    }
    detail::install_halide_hooks();
    detail::install_cuda_hooks();
    detail::call_context context;
    context.on_memory_of_cuda = true;
    const detail::context_scope scope(&context);
    int major = 0, minor = 0;
    if (how.capability(&context, &major, &minor) != 0 || !context.error_text.empty()) {
        return context.error_text.empty() ? "its context of CUDA cannot be used" : context.error_text;
    }
    return why_too_old("the GPU of the current context", 10 * major + minor, kernel);
}

}  // namespace

const std::vector<device> &devices() {
    static const std::vector<device> all = [] {
        process_of_drivers();
        std::vector<device> made;
        for (const search &how : searches) made.push_back(found_by(how));
        return made;
    }();
    return all;
}

const device &device_of(device_kind kind) {
    return *std::find_if(devices().begin(), devices().end(), [kind](const device &each) { return each.kind == kind; });
}

std::string why_unusable(const kernel_description &kernel) { return detail::why_unusable(kernel, device_kind::cpu); }

namespace detail {

bool drivers_are_lost() noexcept { return process_of_drivers() != getpid(); }

std::string why_unusable(const kernel_description &kernel, device_kind memory) {
    if (drivers_are_lost()) {
        return "drivers of devices do not work in a process that is forked after their first use: fork before, or "
               "execute a new program";
    }
    if (memory == device_kind::cuda) {
        return why_unusable_in_current_context(kernel);
    }
    const device &present = device_of(kernel.device);
    if (!present.available) {
        return present.reason;
    }
    return why_too_old(present.name, present.version, kernel);
}

}  // namespace detail

}  // namespace heed
