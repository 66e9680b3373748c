# expect: PASSES has 'weights', for which there are no kernels of GPUs, and TARGETS has no CPU
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known PASSES forward weights TARGETS opencl)
