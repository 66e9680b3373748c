# expect: SCHEDULES has the unknown value .sideways.*Known: decode.*prefill
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known SCHEDULES sideways)
