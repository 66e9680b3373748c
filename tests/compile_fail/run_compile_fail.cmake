# Compiles SOURCE twice with COMPILER: as it is (must succeed), and with HEED_EXPECT_ERROR (must fail with one error that
# contains every text on an "// expect: " line of the source). Texts are written short: without namespaces, '> >' as '>>'.
# Arguments: COMPILER, SOURCE, INCLUDES (folders separated by '|').

function(fail text)
    message(NOTICE "${SOURCE}: ${text}")  # as it is: FATAL_ERROR would wrap the lines
    message(FATAL_ERROR "compile-fail test failed")
endfunction()

execute_process(COMMAND "${COMPILER}" --version OUTPUT_VARIABLE version)
if(version MATCHES "clang")
    set(no_source_lines -fno-caret-diagnostics)
else()
    set(no_source_lines -fno-diagnostics-show-caret)
endif()
set(command "${COMPILER}" -std=c++20 -fsyntax-only ${no_source_lines})
string(REPLACE "|" ";" folders "${INCLUDES}")
foreach(folder IN LISTS folders)
    list(APPEND command "-I${folder}")
endforeach()

execute_process(COMMAND ${command} "${SOURCE}" RESULT_VARIABLE result ERROR_VARIABLE output)
if(NOT result EQUAL 0)
    fail("the corrected twin does not compile:\n${output}")
endif()

execute_process(COMMAND ${command} -DHEED_EXPECT_ERROR "${SOURCE}" RESULT_VARIABLE result ERROR_VARIABLE output)
if(result EQUAL 0)
    fail("compiles, although it should not")
endif()

file(STRINGS "${SOURCE}" expectations REGEX "^// expect: ")
if(NOT expectations)
    fail("has no '// expect: ' line")
endif()

string(REGEX REPLACE "([a-z_]+::)+" "" short "${output}")
string(REPLACE "> >" ">>" short "${short}")
string(REPLACE "> >" ">>" short "${short}")
string(REPLACE "char *" "char*" short "${short}")
foreach(line IN LISTS expectations)
    string(REPLACE "// expect: " "" text "${line}")
    string(FIND "${short}" "${text}" position)
    if(position EQUAL -1)
        fail("the diagnostic lacks '${text}':\n${output}")
    endif()
endforeach()

string(REGEX MATCHALL "[^a-z]error: " errors "${output}")
list(LENGTH errors count)
if(NOT count EQUAL 1)
    fail("one mistake gives ${count} errors:\n${output}")
endif()
