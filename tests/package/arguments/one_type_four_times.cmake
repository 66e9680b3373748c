# expect: DTYPES has 'f16:f16:f16:f16', one type for all. Fix: write 'f16'
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known DTYPES f16 f16:f16:f16:f16)
