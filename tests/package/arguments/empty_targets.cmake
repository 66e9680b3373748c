# expect: heed_add_kernels\(k\): TARGETS is empty
set(none)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known TARGETS "${none}")
