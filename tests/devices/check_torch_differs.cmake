# cmake -DRUNNER=... -DFOLDER=... -P check_torch_differs.cmake
#
# `bench` beside a PyTorch whose result on a GPU is another one: a failure, since the time of a wrong result means
# nothing. The driver is fake_cuda, with which all results are 0; so is PyTorch, whose are 0 or 0.75.
function(time_beside result_commands)
    file(WRITE "${FOLDER}/python" "#!/bin/sh
echo '{\"version\": \"fake\"}'
while read -r command; do
    case $command in
        *'\"do\":\"find gpu\"'*) echo '{\"why_not\": \"\"}' ;;
        *'\"do\":\"flex\"'*) echo '{\"failed\": \"not here\"}' ;;
        *'\"do\":\"time\"'*) echo '{\"seconds\": [1.0]}' ;;
        *'\"do\":\"result\"'*)
            file=$(echo \"$command\" | sed 's/.*\"file\":\"\\([^\"]*\\)\".*/\\1/')
            ${result_commands}
            echo '{\"ok\": true}' ;;
        *) echo '{\"ok\": true}' ;;
    esac
done
")
    file(CHMOD "${FOLDER}/python" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    execute_process(COMMAND "${RUNNER}" bench dense --isa cuda_80 --seq 8 --repeat 1 --round-time 0 --against-torch
                            --python "${FOLDER}/python" --json "${FOLDER}/records.json"
                    OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
    set(all "it ends with '${result}' and prints:\n${out}\n${err}" PARENT_SCOPE)
    set(err "${err}" PARENT_SCOPE)
    set(result "${result}" PARENT_SCOPE)
endfunction()

time_beside(":")  # the file is zeros as it is made
file(READ "${FOLDER}/records.json" records)
if(NOT result EQUAL 0 OR NOT records MATCHES "torch_min_s")
    message(FATAL_ERROR "beside the same result ${all}")
endif()

time_beside("tr '\\0' '?' < \"$file\" > \"$file.made\" && mv \"$file.made\" \"$file\"")
if(NOT result EQUAL 1 OR NOT err MATCHES "bench --against-torch: dense q 8 kv 8: PyTorch's result differs by 7.5e-01")
    message(FATAL_ERROR "beside another result ${all}")
endif()
