# expect: VARIANTS names 'known' twice
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known known)
