# Included with RECORDS, a file, DEVICE, its kind, and ELEMENT_BYTES of all tensors.
#
# What `bench` writes of kernels on a device: all fields, and numbers that agree with each other.
file(READ "${RECORDS}" records)
string(JSON count LENGTH "${records}")
if(count EQUAL 0)
    message(FATAL_ERROR "${RECORDS} has no records")
endif()

# CMake counts in whole numbers alone.
function(check_positive name number)
    if(NOT number MATCHES "^[0-9.]+(e[-+]?[0-9]+)?$" OR number MATCHES "^[0.]+$")
        message(FATAL_ERROR "${name} is ${number}, which is not above 0:\n${record}")
    endif()
endfunction()

math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
    string(JSON record GET "${records}" ${i})
    string(JSON device GET "${record}" device)
    string(JSON name GET "${record}" device_name)
    if(NOT device STREQUAL DEVICE OR name STREQUAL "")
        message(FATAL_ERROR "the device is '${device}', named '${name}', and not ${DEVICE}:\n${record}")
    endif()
    foreach(field IN ITEMS min_s median_s tflops gflops fma_peak_gflops fma_peak_tflops fraction_of_fma_peak gbps
                           memory_bandwidth_gbps fraction_of_memory_bandwidth tensor_bytes)
        string(JSON number GET "${record}" ${field})
        check_positive(${field} "${number}")
    endforeach()
    string(JSON threads ERROR_VARIABLE without_threads GET "${record}" threads)
    if(NOT without_threads)
        message(FATAL_ERROR "threads of the CPU mean nothing here:\n${record}")
    endif()
    # Queries and output, beside keys and values, of (batch 1, heads, lengths).
    foreach(field IN ITEMS heads groups head_dim value_dim q_len kv_len tensor_bytes)
        string(JSON ${field} GET "${record}" ${field})
        string(REGEX REPLACE "\\.0$" "" ${field} "${${field}}")
    endforeach()
    math(EXPR expected "${ELEMENT_BYTES} * (${heads} * ${q_len} + ${groups} * ${kv_len}) * (${head_dim} + ${value_dim})")
    if(NOT tensor_bytes EQUAL expected)
        message(FATAL_ERROR "tensor_bytes is ${tensor_bytes} and not ${expected}:\n${record}")
    endif()
endforeach()
message("${count} records")
