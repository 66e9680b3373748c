# expect: TARGETS has 'opencl', and kernels of GPUs are of the pass forward alone
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known PASSES weights TARGETS x86-64-linux opencl)
