# Compiles SOURCE twice with COMPILER: as it is (must succeed), and with HEED_EXPECT_ERROR (must fail with one error that
# contains every text on an "// expect: " line of the source). Texts are written short: without namespaces, '> >' as '>>'.
# Arguments: COMPILER, SOURCE, INCLUDES (folders separated by '|').
set(command "${COMPILER}" -std=c++20 -fsyntax-only -fno-caret-diagnostics)
string(REPLACE "|" ";" folders "${INCLUDES}")
foreach(folder IN LISTS folders)
    list(APPEND command "-I${folder}")
endforeach()

execute_process(COMMAND ${command} "${SOURCE}" RESULT_VARIABLE result ERROR_VARIABLE output)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: the corrected twin does not compile:\n${output}")
endif()

execute_process(COMMAND ${command} -DHEED_EXPECT_ERROR "${SOURCE}" RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0)
    message(FATAL_ERROR "${SOURCE}: compiles, although it should not")
endif()

file(STRINGS "${SOURCE}" expectations REGEX "^// expect: ")
if(NOT expectations)
    message(FATAL_ERROR "${SOURCE}: has no '// expect: ' line")
endif()

string(REGEX REPLACE "([a-z_]+::)+" "" short "${output}")
string(REPLACE "> >" ">>" short "${short}")
string(REPLACE "> >" ">>" short "${short}")
string(REPLACE "char *" "char*" short "${short}")
foreach(line IN LISTS expectations)
    string(REPLACE "// expect: " "" text "${line}")
    string(FIND "${short}" "${text}" position)
    if(position EQUAL -1)
        message(FATAL_ERROR "${SOURCE}: the diagnostic lacks '${text}':\n${output}")
    endif()
endforeach()

string(REGEX MATCHALL "[^a-z]error: " errors "${output}")
list(LENGTH errors count)
if(NOT count EQUAL 1)
    message(FATAL_ERROR "${SOURCE}: one mistake gives ${count} errors:\n${output}")
endif()
