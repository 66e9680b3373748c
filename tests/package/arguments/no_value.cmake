# expect: heed_add_kernels\(k\): no value after NAMESPACE
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE VARIANTS known)
