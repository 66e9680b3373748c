# SPDX-License-Identifier: MIT
# Builds the kernels of this folder for ARM in FOLDER, with the generators of HOST_BUILD, and runs their tests under QEMU.
foreach(program IN ITEMS aarch64-linux-gnu-g++ qemu-aarch64)
    find_program(found_${program} ${program} NO_CACHE)
    if(NOT found_${program})
        message("[SKIP] ${program} was not found; Debian's packages g++-aarch64-linux-gnu and qemu-user have what is needed")
        return()
    endif()
endforeach()

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} -S "${PROJECT}" -B "${FOLDER}" -G "${GENERATOR}"
    --toolchain "${PROJECT}/generators/cmake/aarch64-linux-gnu.cmake" "-DHEED_HOST_BUILD=${HOST_BUILD}"
    -DCMAKE_BUILD_TYPE=Release -DHEED_WARNINGS_AS_ERRORS=ON -DHEED_BUILD_EXAMPLES=OFF)
run(${CMAKE_COMMAND} --build "${FOLDER}" --target heed_arm_tests)
run(${CMAKE_CTEST_COMMAND} --test-dir "${FOLDER}" -L "^arm\$" --no-tests=error --verbose)
