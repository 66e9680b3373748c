# expect: heed_add_runner\(r\): unknown argument 'KERNEL;k'
heed_add_runner(r KERNEL k)
