# expect: a cache holds keys and values of one type
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known PASSES cached DTYPES f32:f16:i8:f32)
