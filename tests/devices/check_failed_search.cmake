# cmake -DFOLDER=... -DSOURCES=... -P check_failed_search.cmake
#
# tests/gpu.sh with runners whose command `devices` fails: only the status that means "there is none" skips the rest.
set(ENV{HEED_GPU_KIND} opencl)
set(ENV{HEED_GPU_FOLDER} "${FOLDER}/results")
set(ENV{HEED_GPU_RUNNER} "${FOLDER}/runner")

# Runs the script with a runner that does no more than these commands of a shell.
function(run_script commands)
    file(WRITE "${FOLDER}/runner" "#!/bin/sh\n${commands}\n")
    file(CHMOD "${FOLDER}/runner" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
    execute_process(COMMAND sh "${SOURCES}/tests/gpu.sh" OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
    set(out "${out}" PARENT_SCOPE)
    set(err "${err}" PARENT_SCOPE)
    set(result "${result}" PARENT_SCOPE)
endfunction()

run_script("echo 'opencl: nothing here'\nexit 3")
if(NOT result EQUAL 0 OR NOT out STREQUAL "[SKIP] opencl: nothing here\n")
    message(FATAL_ERROR "without a device the script ends with '${result}' and prints '${out}' '${err}'")
endif()

# A crash, a library that is missing, a word that it does not know.
foreach(failure IN ITEMS "kill -SEGV $$" "exit 127" "exit 105" "exit 1")
    run_script("${failure}")
    if(result EQUAL 0 OR out MATCHES "SKIP" OR NOT err MATCHES "runner devices opencl' ended with status [1-9]")
        message(FATAL_ERROR "after '${failure}' the script ends with '${result}' and prints '${out}' '${err}'")
    endif()
endforeach()
