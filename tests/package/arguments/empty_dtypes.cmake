# expect: heed_add_kernels\(k\): DTYPES is empty
set(none)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known DTYPES "${none}")
