# expect: two TARGETS are of the level avx2.*x86-64-linux-avx2-fma
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known TARGETS x86-64-linux-avx2-fma-f16c x86-64-linux-avx2-fma)
