# expect: heed_add_kernels\(k\): HEED_HOST_BUILD '/nowhere'.*is not the build folder of a project. Fix: configure the same project
set(CMAKE_CROSSCOMPILING TRUE)
set(HEED_HOST_BUILD /nowhere)
heed_add_kernels(k VARIANTS_HEADER variants.hpp NAMESPACE models VARIANTS known)
