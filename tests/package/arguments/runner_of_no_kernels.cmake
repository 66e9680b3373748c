# expect: heed_add_runner\(r\): KERNELS 'nothing' is not a target of heed_add_kernels
heed_add_runner(r KERNELS nothing)
