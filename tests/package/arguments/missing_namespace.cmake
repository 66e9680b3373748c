# expect: heed_add_kernels\(k\): NAMESPACE is missing
heed_add_kernels(k VARIANTS_HEADER variants.hpp VARIANTS known)
