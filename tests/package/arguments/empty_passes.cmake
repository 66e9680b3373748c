# expect: heed_add_kernels\(k\): PASSES is empty
set(none)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known PASSES "${none}")
