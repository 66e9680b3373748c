# expect: TARGETS has 'mips-32-linux', for which Heed has no schedule
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known TARGETS mips-32-linux)
