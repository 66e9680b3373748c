# expect: only caches hold i8
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known PASSES forward cached DTYPES f32:i8:i8:f32)
