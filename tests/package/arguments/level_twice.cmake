# expect: two TARGETS are of the level x86_64.*x86-64-linux-sse41
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known TARGETS x86-64-linux x86-64-linux-sse41)
