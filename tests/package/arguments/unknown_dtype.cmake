# expect: DTYPES has the unknown value 'f8'
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known DTYPES f8)
