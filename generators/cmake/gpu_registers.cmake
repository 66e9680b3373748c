# cmake -DPTXAS=... -DBASE=PATH -P gpu_registers.cmake
#
# Assembles PATH.device, code for CUDA, and adds to PATH.block how many registers a thread of its main kernel takes:
# "registers_sm_80 96". Adds nothing for an architecture that the code is not for, or that the assembler does not know.
file(STRINGS "${BASE}.block" entry REGEX "^entry ")
string(REGEX REPLACE "^entry " "" entry "${entry}")
# Halide ends the file with a zero, which the assembler refuses.
execute_process(COMMAND tr -d "\\0" INPUT_FILE "${BASE}.device" OUTPUT_FILE "${BASE}.ptx" RESULT_VARIABLE result)
foreach(architecture IN ITEMS sm_80 sm_90)
    execute_process(COMMAND "${PTXAS}" -v -arch ${architecture} "${BASE}.ptx" -o "${BASE}.cubin"
                    OUTPUT_VARIABLE report ERROR_VARIABLE report RESULT_VARIABLE result)
    # One function after another: its name, then what it uses.
    string(FIND "${report}" "Compiling entry function '${entry}'" begin)
    if(NOT result EQUAL 0 OR begin EQUAL -1)
        continue()
    endif()
    string(SUBSTRING "${report}" ${begin} -1 report)
    if(report MATCHES "Used ([0-9]+) registers")
        file(APPEND "${BASE}.block" "registers_${architecture} ${CMAKE_MATCH_1}\n")
    endif()
endforeach()
file(REMOVE "${BASE}.ptx" "${BASE}.cubin")
