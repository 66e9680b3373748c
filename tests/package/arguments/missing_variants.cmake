# expect: heed_add_kernels\(k\): VARIANTS is missing
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models)
