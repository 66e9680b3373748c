# expect: heed_add_kernels\(k\): unknown argument 'VARIANT;known'
heed_add_kernels(k VARIANT known)
