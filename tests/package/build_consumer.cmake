# Builds CONSUMER, whose program is PROGRAM and whose runner is RUNNER, in FOLDER, against an installed Heed in PREFIX_PATH; runs it.
# With HEED, the folder of Heed's sources: CONSUMER has them in its folder `heed`, and the header VARIANTS_HEADER beside its own.
string(REPLACE "|" ";" PREFIX_PATH "${PREFIX_PATH}")
set(source "${CONSUMER}")
if(DEFINED HEED)
    set(source "${FOLDER}/source")
    file(COPY "${VARIANTS_HEADER}" "${CONSUMER}/" DESTINATION "${source}")
    file(REMOVE "${source}/heed")
    file(CREATE_LINK "${HEED}" "${source}/heed" SYMBOLIC)
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
