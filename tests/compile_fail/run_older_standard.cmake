# Compiles every header of FOLDER/heed as C++17 with COMPILER: each must fail with the message that C++20 is needed, and
# with no error but that and the missing file that ends the compilation.
file(GLOB headers RELATIVE "${FOLDER}" "${FOLDER}/heed/*.hpp" "${FOLDER}/heed/detail/*.hpp")
if(NOT headers)
    message(FATAL_ERROR "no headers in ${FOLDER}/heed")
endif()
foreach(header IN LISTS headers)
    execute_process(COMMAND "${COMPILER}" -std=c++17 -fsyntax-only "-I${FOLDER}" -x c++ -include "${header}" /dev/null
                    RESULT_VARIABLE result ERROR_VARIABLE output)
    string(REGEX MATCHALL "[^a-z]error: " errors "${output}")
    list(LENGTH errors count)
    string(FIND "${output}" "declarations of variants need C++20" at)
    if(result EQUAL 0 OR at EQUAL -1 OR count GREATER 2)
        message(NOTICE "${output}")
        message(FATAL_ERROR "${header} as C++17: ${count} errors, or not the one that C++20 is needed")
    endif()
endforeach()
