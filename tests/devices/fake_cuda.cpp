// SPDX-License-Identifier: MIT
//
// A driver of CUDA, as libcuda.so.1, that has no device, or one that is too old, or one without memory, as the
// environment variable FAKE_CUDA says: "no_device", "old", "no_memory". Or it works, "works", but for what it is told
// to fail at, and for its kernels, which do nothing: results are 0.
#include "fake_cuda.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>

extern "C" {
fake_cuda_control fake_cuda;
}

namespace {

constexpr int success = 0, out_of_memory = 2, no_device = 100, invalid_context = 201, launch_failed = 719,
              not_supported = 801;

bool is(const char *what) {
    const char *asked = std::getenv("FAKE_CUDA");
    return asked != nullptr && std::strcmp(asked, what) == 0;
}

fake_context halides;

/// The contexts that are current in this thread, the last one in effect. Halide comes here even while the process ends,
/// so nothing of it may have been destroyed.
struct context_stack {
    void *entries[16];
    int count;

    bool empty() const { return count == 0; }
    void *back() const { return entries[count - 1]; }
    void push_back(void *context) { entries[count++] = context; }
    void pop_back() { --count; }
};
thread_local context_stack contexts = {};

/// Counts, and says whether it is time to fail.
bool fails(int &count, int first_failing) {
    ++count;
    return first_failing != 0 && count >= first_failing;
}

int copy(void *to, const void *from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    return success;
}

void *at(unsigned long long address) {
    void *pointer = nullptr;
    std::memcpy(&pointer, &address, sizeof pointer);
    return pointer;
}

int copy_to_host(void *to, unsigned long long from, std::size_t bytes) {
    return fails(fake_cuda.copies_to_host, fake_cuda.failing_copy) ? launch_failed : copy(to, at(from), bytes);
}

int load(void **module) {
    static char loaded;
    *module = &loaded;
    ++fake_cuda.live_modules;
    return success;
}

}  // namespace

extern "C" {

int cuInit(unsigned) { return is("no_device") ? no_device : success; }
int cuDeviceGetCount(int *count) {
    *count = 1;
    return success;
}
int cuDeviceGet(int *device, int) {
    *device = 0;
    return success;
}
int cuDeviceGetAttribute(int *value, int attribute, int gpu) {
    constexpr int major = 75, minor = 76;
    const bool is_old = is("old") || gpu == 1;
    *value = attribute == major ? (is_old ? 7 : 9) : attribute == minor ? (is_old ? 5 : 0) : 1;
    return success;
}
int cuDeviceGetName(char *name, int length, int) {
    std::strncpy(name, "a fake", static_cast<std::size_t>(length));
    return success;
}
int cuDeviceTotalMem_v2(std::size_t *bytes, int) {
    *bytes = 1 << 20;
    return success;
}
int cuCtxCreate_v2(void **made, unsigned, int) {
    ++fake_cuda.contexts_made;
    *made = &halides;
    contexts.push_back(*made);
    return success;
}
int cuCtxDestroy_v2(void *) { return success; }
int cuProfilerStop() { return success; }
int cuCtxGetApiVersion(void *, unsigned *version) {
    *version = 3020;
    return success;
}
int cuCtxGetCurrent(void **current) {
    *current = contexts.empty() ? nullptr : contexts.back();
    return success;
}
int cuCtxGetDevice(int *device) {
    if (contexts.empty()) return invalid_context;
    *device = static_cast<fake_context *>(contexts.back())->gpu;
    return success;
}
int cuCtxPushCurrent_v2(void *context) {
    contexts.push_back(context);
    return success;
}
int cuCtxPopCurrent_v2(void **popped) {
    if (contexts.empty()) return invalid_context;
    *popped = contexts.back();
    contexts.pop_back();
    return success;
}
int cuCtxSynchronize() { return success; }
int cuStreamSynchronize(void *) {
    ++fake_cuda.synchronised;
    return success;
}
int cuMemAlloc_v2(unsigned long long *address, std::size_t bytes) {
    if (contexts.empty()) return invalid_context;
    if (!is("works") || fails(fake_cuda.allocations, fake_cuda.failing_allocation)) return out_of_memory;
    if (bytes > fake_cuda.largest_allocation) fake_cuda.largest_allocation = bytes;
    void *const memory = std::calloc(bytes, 1);
    std::memcpy(address, &memory, sizeof memory);
    ++fake_cuda.live_allocations;
    return success;
}
int cuMemFree_v2(unsigned long long address) {
    if (contexts.empty()) return invalid_context;
    std::free(at(address));
    --fake_cuda.live_allocations;
    return success;
}
int cuModuleLoadData(void **module, const void *) { return load(module); }
/// Refuses options: Halide's own would limit threads to 64 registers.
int cuModuleLoadDataEx(void **module, const void *, unsigned option_count, int *, void **) {
    return option_count == 0 ? load(module) : not_supported;
}
int cuModuleUnload(void *) {
    --fake_cuda.live_modules;
    return success;
}
int cuModuleGetFunction(void **function, void *module, const char *) {
    *function = module;
    return success;
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, std::size_t bytes) { return copy(at(to), from, bytes); }
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, std::size_t bytes, void *) {
    return copy(at(to), from, bytes);
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, std::size_t bytes) { return copy_to_host(to, from, bytes); }
int cuMemcpyDtoHAsync_v2(void *to, unsigned long long from, std::size_t bytes, void *) {
    return copy_to_host(to, from, bytes);
}
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *stream, void **,
                   void **) {
    if (contexts.empty()) return invalid_context;
    if (contexts.back() != fake_cuda.context || stream != fake_cuda.stream) ++fake_cuda.elsewhere;
    return fails(fake_cuda.launches, fake_cuda.failing_launch) ? launch_failed : success;
}

// Nothing gets as far as these.
int cuMemcpyDtoD_v2() { return not_supported; }
int cuMemcpyDtoDAsync_v2() { return not_supported; }
int cuMemcpy3D_v2() { return not_supported; }
int cuPointerGetAttribute() { return not_supported; }
}
