# Builds CONSUMER, whose program is PROGRAM and whose runner is RUNNER, in FOLDER, against an installed Heed in PREFIX_PATH, or with CONSUMER_OF added as a subdirectory; runs it.
string(REPLACE "|" ";" PREFIX_PATH "${PREFIX_PATH}")
set(source "${CONSUMER}")
if(DEFINED CONSUMER_OF)
    set(source "${FOLDER}/source")
    file(WRITE "${source}/CMakeLists.txt"
        "cmake_minimum_required(VERSION 3.28)\nproject(consumer LANGUAGES CXX)\n"
        "add_subdirectory(\"${CONSUMER_OF}\" heed)\nadd_subdirectory(\"${CONSUMER}\" consumer)\n")
endif()

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} -S "${source}" -B "${FOLDER}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_PREFIX_PATH=${PREFIX_PATH}" -DCMAKE_BUILD_TYPE=Release "-DCMAKE_RUNTIME_OUTPUT_DIRECTORY=${FOLDER}/bin")
run(${CMAKE_COMMAND} --build "${FOLDER}/build" --target ${PROGRAM} ${RUNNER})
run("${FOLDER}/bin/${PROGRAM}")
run("${FOLDER}/bin/${RUNNER}" list)
# No compiler in the user's program.
execute_process(COMMAND ldd "${FOLDER}/bin/${PROGRAM}" OUTPUT_VARIABLE libraries COMMAND_ERROR_IS_FATAL ANY)
if(libraries MATCHES "libHalide|libLLVM")
    message(FATAL_ERROR "${PROGRAM} links a compiler:\n${libraries}")
endif()
