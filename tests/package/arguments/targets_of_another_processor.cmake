# expect: of TARGETS 'arm-64-linux' none is for the processor 'x86_64', which.*Fix: add one of x86-64-linux-avx512_skylake
set(CMAKE_SYSTEM_PROCESSOR x86_64)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known TARGETS arm-64-linux)
