# expect: heed_add_kernels\(k\): SCHEDULES is empty
set(none)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known SCHEDULES "${none}")
