# expect: heed_add_kernels\(k\): VARIANTS_HEADER is missing
heed_add_kernels(k NAMESPACE models VARIANTS known)
