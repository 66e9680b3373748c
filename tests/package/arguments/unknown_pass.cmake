# expect: PASSES has the unknown value 'backwards'
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known PASSES backwards)
