# expect: VARIANTS_HEADER '.*/nowhere.hpp'.*does.*not.*exist
heed_add_kernels(k VARIANTS_HEADER nowhere.hpp NAMESPACE models VARIANTS known)
