# expect: EMIT has the unknown value 'asm'.*Known: stmt.*assembly
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known EMIT asm)
