# expect: heed_add_kernels\(k\): this build is for another machine.*HEED_HOST_BUILD.*is not set. Fix: configure the same project
set(CMAKE_CROSSCOMPILING TRUE)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known)
