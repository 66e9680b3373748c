// SPDX-License-Identifier: MIT
//
// A driver of CUDA, as libcuda.so.1, that has no device, or one that is too old, or one without memory, as the
// environment variable FAKE_CUDA says: "no_device", "old", "no_memory".
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int success = 0, out_of_memory = 2, no_device = 100, not_supported = 801;

bool is(const char *what) {
    const char *asked = std::getenv("FAKE_CUDA");
    return asked != nullptr && std::strcmp(asked, what) == 0;
}

char context;

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
int cuDeviceGetAttribute(int *value, int attribute, int) {
    constexpr int major = 75, minor = 76;
    *value = attribute == major ? (is("old") ? 7 : 9) : attribute == minor ? (is("old") ? 5 : 0) : 1;
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
    *made = &context;
    return success;
}
int cuCtxDestroy_v2(void *) { return success; }
int cuProfilerStop() { return success; }
int cuCtxGetApiVersion(void *, unsigned *version) {
    *version = 3020;
    return success;
}
int cuCtxGetDevice(int *device) {
    *device = 0;
    return success;
}
int cuCtxPushCurrent_v2(void *) { return success; }
int cuCtxPopCurrent_v2(void **popped) {
    *popped = &context;
    return success;
}
int cuCtxSynchronize() { return success; }
int cuStreamSynchronize(void *) { return success; }
int cuMemAlloc_v2(unsigned long long *, std::size_t) { return out_of_memory; }
int cuModuleLoadData(void **module, const void *) {
    *module = &context;
    return success;
}
/// Refuses options: Halide's own would limit threads to 64 registers.
int cuModuleLoadDataEx(void **module, const void *, unsigned option_count, int *, void **) {
    *module = &context;
    return option_count == 0 ? success : not_supported;
}
int cuModuleUnload(void *) { return success; }

// Nothing gets as far as these.
int cuMemFree_v2() { return not_supported; }
int cuModuleGetFunction() { return not_supported; }
int cuMemcpyHtoD_v2() { return not_supported; }
int cuMemcpyDtoH_v2() { return not_supported; }
int cuMemcpyDtoD_v2() { return not_supported; }
int cuMemcpyHtoDAsync_v2() { return not_supported; }
int cuMemcpyDtoHAsync_v2() { return not_supported; }
int cuMemcpyDtoDAsync_v2() { return not_supported; }
int cuMemcpy3D_v2() { return not_supported; }
int cuLaunchKernel() { return not_supported; }
int cuPointerGetAttribute() { return not_supported; }
}
