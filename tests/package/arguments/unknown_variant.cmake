# expect: VARIANTS names 'unknwon', which does not occur in
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known unknwon)
