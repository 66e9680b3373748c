# cmake -DRUNNER=... -DFOLDER=... -P check_torch_differs.cmake
#
# `bench` beside a PyTorch whose result on a GPU is another one: a failure, since the time of a wrong result means
# nothing. The driver is fake_cuda, whose kernels write nothing; what stands in for PyTorch says that it has computed.
file(WRITE "${FOLDER}/python" [[#!/bin/sh
echo '{"version": "fake"}'
while read -r command; do
    case $command in
        *'"do":"find gpu"'*) echo '{"why_not": ""}' ;;
        *'"do":"flex"'*) echo '{"failed": "not here"}' ;;
        *'"do":"time"'*) echo '{"seconds": [1.0]}' ;;
        *) echo '{"ok": true}' ;;
    esac
done
]])
file(CHMOD "${FOLDER}/python" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
execute_process(COMMAND "${RUNNER}" bench dense --isa cuda_80 --seq 8 --repeat 1 --round-time 0 --against-torch
                        --python "${FOLDER}/python"
                OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
if(NOT result EQUAL 1 OR NOT err MATCHES "bench --against-torch: dense q 8 kv 8: PyTorch's result differs by ")
    message(FATAL_ERROR "beside another result it ends with '${result}' and prints:\n${out}\n${err}")
endif()
