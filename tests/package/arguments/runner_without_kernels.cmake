# expect: heed_add_runner\(r\): KERNELS is missing
heed_add_runner(r)
