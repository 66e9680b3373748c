# expect: of TARGETS 'cuda' none is for the processor 'aarch64', which.*[(]cuda: programs for x86-64 alone start kernels of GPUs.[)] Fix: add one of arm-64-linux
set(CMAKE_SYSTEM_PROCESSOR aarch64)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known TARGETS cuda)
