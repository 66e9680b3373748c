# heed_add_kernels and heed_add_runner, the same in an installed Heed and in one added by add_subdirectory.
set(HEED_HOST_BUILD "" CACHE PATH "When cross-compiling: build folder of the same project for the machine that builds")

# heed_add_kernels(<target>
#     VARIANTS_HEADER <header>      a C++20 header that declares variants
#     NAMESPACE <namespace>         where it declares them
#     VARIANTS <name>...            which of them to compile
#     [PASSES <pass>...]            forward (default); weights: the attention matrix itself, see heed/call.hpp; cached:
#                                   with a cache of keys and values, see heed/cached_call.hpp
#     [SCHEDULES <schedule>...]     of forward and cached: decode (few queries) and prefill (many); default: both, picked
#                                   per call
#     [DTYPES <type>...]            f32 (default), f16, bf16: of query, key, value and output; or four of them, one for
#                                   each, joined by colons: f32:f16:f16:f32; i8 for key and value of a cache
#     [TARGETS <target>...]         of Halide; default: cpu, which is x86-64-linux-avx512_skylake,
#                                   x86-64-linux-avx2-fma-f16c and x86-64-linux, or arm-64-linux, as the processor that is
#                                   built for. Of several, those of that processor count. And kernels
#                                   for GPUs, of the pass forward, see heed/device.hpp: opencl, vulkan, and cuda for
#                                   compute capability 8.0, cuda_capability_75 and cuda_capability_86 for others
#     [EMIT stmt assembly device])  also keep Halide's lowered loops, the assembly, and what a GPU's driver compiles (PTX,
#                                   OpenCL C), in <build>/<target>.kernels
#
# Makes a static library of the kernels. What links it may include <target>.hpp, which needs C++17: there, in NAMESPACE,
# every variant is an object to call.
#
# Kernels are written by a program, <target>.generator, that runs on the machine that builds. When cross-compiling it is
# that of HEED_HOST_BUILD, the build folder of the same project for this machine, in which it is built where it is not up
# to date.
function(heed_add_kernels target)
    set(context "heed_add_kernels(${target})")
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "VARIANTS_HEADER;NAMESPACE" "VARIANTS;PASSES;SCHEDULES;DTYPES;TARGETS;EMIT")
    if(DEFINED ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${context}: unknown argument '${ARG_UNPARSED_ARGUMENTS}'. "
                            "Known: VARIANTS_HEADER NAMESPACE VARIANTS PASSES SCHEDULES DTYPES TARGETS EMIT.")
    endif()
    if(DEFINED ARG_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "${context}: no value after ${ARG_KEYWORDS_MISSING_VALUES}.")
    endif()
    foreach(required IN ITEMS VARIANTS_HEADER NAMESPACE VARIANTS)
        if(NOT DEFINED ARG_${required})
            message(FATAL_ERROR "${context}: ${required} is missing.")
        endif()
    endforeach()
    foreach(list IN ITEMS VARIANTS PASSES SCHEDULES DTYPES TARGETS EMIT)
        if(DEFINED ARG_${list} AND "${ARG_${list}}" STREQUAL "")
            message(FATAL_ERROR "${context}: ${list} is empty. Fix: give it a value, or leave it out if it may be.")
        endif()
    endforeach()
    if(TARGET ${target})
        message(FATAL_ERROR "${context}: there is a target of this name already.")
    endif()
    _heed_check_values("${context}" PASSES "${ARG_PASSES}" forward weights cached)
    if(NOT DEFINED ARG_PASSES)
        set(ARG_PASSES forward)
    endif()
    _heed_check_values("${context}" SCHEDULES "${ARG_SCHEDULES}" decode prefill)
    if(NOT DEFINED ARG_SCHEDULES)
        set(ARG_SCHEDULES decode prefill)
    endif()
    if(NOT DEFINED ARG_DTYPES)
        set(ARG_DTYPES f32)
    endif()
    foreach(dtype IN LISTS ARG_DTYPES)
        if(NOT dtype MATCHES "^(f32|f16|bf16)(:(f32|f16|bf16|i8):(f32|f16|bf16|i8):(f32|f16|bf16))?$")
            message(FATAL_ERROR "${context}: DTYPES has the unknown value '${dtype}'. Known: f32 f16 bf16, or four of "
                                "them for query, key, value and output, as in f32:f16:f16:f32; key and value may be i8.")
        elseif(dtype MATCHES "^([a-z0-9]+):([a-z0-9]+):([a-z0-9]+):([a-z0-9]+)$"
               AND CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_2 AND CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_3 AND CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_4)
            message(FATAL_ERROR "${context}: DTYPES has '${dtype}', one type for all. Fix: write '${CMAKE_MATCH_1}', once.")
        elseif("cached" IN_LIST ARG_PASSES AND dtype MATCHES ":([a-z0-9]+):([a-z0-9]+):" AND NOT CMAKE_MATCH_1 STREQUAL CMAKE_MATCH_2)
            message(FATAL_ERROR "${context}: DTYPES has '${dtype}', but a cache holds keys and values of one type. Fix: "
                                "give both the same.")
        elseif(dtype MATCHES "i8" AND NOT ARG_PASSES STREQUAL "cached")
            message(FATAL_ERROR "${context}: DTYPES has '${dtype}', and only caches hold i8, with a scale for each row. "
                                "Fix: ask for PASSES cached alone, and for others in a target of their own.")
        endif()
    endforeach()
    foreach(list IN ITEMS PASSES SCHEDULES DTYPES)
        set(unique ${ARG_${list}})
        list(REMOVE_DUPLICATES unique)
        if(NOT "${unique}" STREQUAL "${ARG_${list}}")
            message(FATAL_ERROR "${context}: ${list} names a value twice: ${ARG_${list}}.")
        endif()
    endforeach()
    _heed_check_values("${context}" EMIT "${ARG_EMIT}" stmt assembly device)
    heed_default_targets(levels_of_cpu)
    if(NOT DEFINED ARG_TARGETS)
        set(ARG_TARGETS cpu)
    endif()
    list(TRANSFORM ARG_TARGETS REPLACE "^cpu$" "${levels_of_cpu}")

    cmake_path(ABSOLUTE_PATH ARG_VARIANTS_HEADER BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${ARG_VARIANTS_HEADER}")
        message(FATAL_ERROR "${context}: VARIANTS_HEADER '${ARG_VARIANTS_HEADER}' does not exist.")
    endif()
    if(NOT ARG_NAMESPACE MATCHES "^[A-Za-z_][A-Za-z0-9_]*(::[A-Za-z_][A-Za-z0-9_]*)*$")
        message(FATAL_ERROR "${context}: NAMESPACE '${ARG_NAMESPACE}' is not the name of a namespace.")
    endif()
    file(READ "${ARG_VARIANTS_HEADER}" header_text)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${ARG_VARIANTS_HEADER}")
    set(seen)
    foreach(variant IN LISTS ARG_VARIANTS)
        if(NOT variant MATCHES "^[A-Za-z_][A-Za-z0-9_]*$")
            message(FATAL_ERROR "${context}: VARIANTS names '${variant}', which is not a C++ identifier.")
        elseif(NOT header_text MATCHES "(^|[^A-Za-z0-9_])${variant}([^A-Za-z0-9_]|$)")
            message(FATAL_ERROR "${context}: VARIANTS names '${variant}', which does not occur in ${ARG_VARIANTS_HEADER}.")
        elseif(variant IN_LIST seen)
            message(FATAL_ERROR "${context}: VARIANTS names '${variant}' twice.")
        endif()
        list(APPEND seen ${variant})
    endforeach()
    _heed_known_targets(known_targets known_levels devices)
    set(cpu_targets ${ARG_TARGETS})
    list(REMOVE_ITEM cpu_targets ${devices})
    foreach(halide_target IN LISTS ARG_TARGETS)
        if(halide_target IN_LIST devices AND NOT "forward" IN_LIST ARG_PASSES)
            message(FATAL_ERROR "${context}: TARGETS has '${halide_target}', and kernels of GPUs are of the pass forward "
                                "alone. Fix: name it in PASSES, or leave the target out.")
        endif()
    endforeach()
    foreach(pass IN LISTS ARG_PASSES)
        if(NOT cpu_targets AND NOT pass STREQUAL "forward")
            message(FATAL_ERROR "${context}: PASSES has '${pass}', for which there are no kernels of GPUs, and TARGETS has no "
                                "CPU. Fix: add a target of a CPU, or leave the pass out.")
        endif()
    endforeach()
    set(isas)
    foreach(halide_target IN LISTS ARG_TARGETS)
        _heed_isa("${context}" "${halide_target}" isa)
        if(isa IN_LIST isas)
            message(FATAL_ERROR "${context}: two TARGETS are of the level ${isa}; '${halide_target}' is the second.")
        endif()
        list(APPEND isas ${isa})
    endforeach()
    _heed_targets_of_processor("${context}" "${ARG_TARGETS}" ARG_TARGETS)

    string(MAKE_C_IDENTIFIER "${target}" library)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.kernels")
    file(MAKE_DIRECTORY "${folder}")

    # The generator: one program for all variants of the header.
    set(sources)
    foreach(variant IN LISTS ARG_VARIANTS)
        string(APPEND sources "         heed::generators::source_of<${ARG_NAMESPACE}::${variant}>(\"${variant}\"),\n")
    endforeach()
    file(CONFIGURE OUTPUT "${folder}/generator.cpp" @ONLY CONTENT
"// Written by @context@.
#include <heed/generator.hpp>
#include <heed/run_generator.hpp>

#include \"@ARG_VARIANTS_HEADER@\"

int main(int argc, char **argv) {
    const heed::generators::generator_library library{
        \"@library@\", \"@ARG_VARIANTS_HEADER@\", \"@ARG_NAMESPACE@\",
        {
@sources@        }};
    return heed::generators::run_generator(library, argc, argv);
}
")
    if(CMAKE_CROSSCOMPILING)
        # Never built: takes what the project sets on the generator.
        add_executable(${target}.generator EXCLUDE_FROM_ALL "${folder}/generator.cpp")
    else()
        add_executable(${target}.generator "${folder}/generator.cpp")
        target_link_libraries(${target}.generator PRIVATE heed::generators)
    endif()
    list(JOIN ARG_VARIANTS " " made_for)
    string(APPEND made_for " of ${ARG_NAMESPACE} in ${ARG_VARIANTS_HEADER}")
    heed_host_program("${context}" ${target}.generator "${made_for}" generate generator_files)

    set(objects)
    set(blocks)
    set(choices)
    foreach(pass IN LISTS ARG_PASSES)
        set(parts)
        if(pass STREQUAL weights)
            set(parts weights/prefill)
        else()
            list(TRANSFORM ARG_SCHEDULES PREPEND "${pass}/" OUTPUT_VARIABLE parts)
        endif()
        if(pass STREQUAL cached)
            list(APPEND parts append/rows)
        endif()
        foreach(part IN LISTS parts)
            foreach(dtype IN LISTS ARG_DTYPES)
                foreach(halide_target IN LISTS ARG_TARGETS)
                    # GPUs have schedules of this pass alone.
                    if(halide_target IN_LIST devices AND NOT part MATCHES "^forward/")
                        continue()
                    endif()
                    list(APPEND choices "${part}/${dtype}/${halide_target}")
                endforeach()
            endforeach()
        endforeach()
    endforeach()
    foreach(variant IN LISTS ARG_VARIANTS)
        foreach(choice IN LISTS choices)
            string(REPLACE "/" ";" choice "${choice}")
            list(POP_FRONT choice pass schedule dtype halide_target)
            _heed_isa("${context}" "${halide_target}" isa)
            string(REPLACE ":" "_" types "${dtype}")
            set(base "${folder}/${variant}_${pass}_${schedule}_${types}_${isa}")
            set(byproducts)
            if("stmt" IN_LIST ARG_EMIT)
                list(APPEND byproducts "${base}.stmt")
            endif()
            if("assembly" IN_LIST ARG_EMIT)
                list(APPEND byproducts "${base}.s")
            endif()
            set(emit)
            if("stmt" IN_LIST ARG_EMIT)
                set(emit --stmt)
            endif()
            set(tidy)
            if(NOT "assembly" IN_LIST ARG_EMIT)
                set(tidy COMMAND ${CMAKE_COMMAND} -E rm "${base}.s")
            endif()
            set(block)
            set(count_registers)
            if(halide_target IN_LIST devices)
                set(block "${base}.block")
                set(keeps_device_code OFF)
                if("device" IN_LIST ARG_EMIT)
                    set(keeps_device_code ON)
                    list(APPEND byproducts "${base}.device")
                endif()
                if(halide_target MATCHES "^cuda")
                    _heed_find_ptxas()
                    if(HEED_PTXAS)
                        set(count_registers COMMAND ${CMAKE_COMMAND} "-DPTXAS=${HEED_PTXAS}" "-DBASE=${base}"
                                                    -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/gpu_registers.cmake")
                    endif()
                endif()
                if(keeps_device_code OR count_registers)
                    list(APPEND emit --device-code)
                endif()
                if(count_registers AND NOT keeps_device_code)
                    list(APPEND tidy COMMAND ${CMAKE_COMMAND} -E rm "${base}.device")
                endif()
            endif()
            add_custom_command(
                OUTPUT "${base}.o" ${block} BYPRODUCTS ${byproducts}
                COMMAND ${generate} kernel --variant ${variant} --pass ${pass} --schedule ${schedule}
                        --dtype ${dtype} --target ${halide_target} --output "${base}" ${emit}
                COMMAND ${CMAKE_CXX_COMPILER} -c "${base}.s" -o "${base}.o"
                ${count_registers}
                ${tidy}
                DEPENDS ${generator_files}
                COMMENT "Kernel ${variant} ${pass} ${schedule} ${dtype} for ${isa}"
                VERBATIM)
            list(APPEND objects "${base}.o")
            list(APPEND blocks ${block})
        endforeach()
    endforeach()
    add_custom_command(
        OUTPUT "${folder}/include/${target}.hpp" "${folder}/table.cpp"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}/include"
        COMMAND ${generate} header --output "${folder}/include/${target}.hpp"
        COMMAND ${generate} table ${choices} --output "${folder}/table.cpp" --blocks "${folder}"
        DEPENDS ${generator_files} ${blocks}
        COMMENT "Header and table of ${target}"
        VERBATIM)

    set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    add_library(${target} STATIC "${folder}/table.cpp" "${folder}/include/${target}.hpp" ${objects})
    target_link_libraries(${target} PUBLIC heed::runtime PRIVATE heed::table)
    target_include_directories(${target} INTERFACE "${folder}/include")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    # Some compilers default to less than what the header needs.
    target_compile_features(${target} INTERFACE cxx_std_17)
    set(target_devices ${ARG_TARGETS})
    if(cpu_targets)
        list(REMOVE_ITEM target_devices ${cpu_targets})
    endif()
    set_target_properties(${target} PROPERTIES HEED_LIBRARY "${library}" HEED_DEVICES "${target_devices}")
endfunction()

# heed_add_runner(<target> KERNELS <kernels-target>)
#
# Makes a program that lists, explains, verifies and benchmarks the kernels of a heed_add_kernels target.
function(heed_add_runner target)
    set(context "heed_add_runner(${target})")
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "KERNELS" "")
    if(DEFINED ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${context}: unknown argument '${ARG_UNPARSED_ARGUMENTS}'. Known: KERNELS.")
    endif()
    if(NOT DEFINED ARG_KERNELS)
        message(FATAL_ERROR "${context}: KERNELS is missing.")
    endif()
    set(library)
    if(TARGET ${ARG_KERNELS})
        get_target_property(library ${ARG_KERNELS} HEED_LIBRARY)
    endif()
    if(NOT library)
        message(FATAL_ERROR "${context}: KERNELS '${ARG_KERNELS}' is not a target of heed_add_kernels.")
    endif()
    if(TARGET ${target})
        message(FATAL_ERROR "${context}: there is a target of this name already.")
    endif()
    # What devices are measured with.
    get_target_property(devices ${ARG_KERNELS} HEED_DEVICES)
    set(yardsticks)
    set(yardsticks_header)
    set(yardsticks_library)
    if(devices)
        set(yardsticks ", heed::all_device_yardsticks")
        set(yardsticks_header "#include <heed/yardsticks.hpp>\n")
        set(yardsticks_library heed::yardsticks)
    endif()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.runner.cpp")
    file(CONFIGURE OUTPUT "${source}" @ONLY CONTENT
"// Written by @context@.
#include <heed/kernel_table.hpp>
#include <heed/runner.hpp>
@yardsticks_header@
namespace heed_libraries {
extern const heed::kernel_library @library@;
}

int main(int argc, char **argv) { return heed::run_command_line(heed_libraries::@library@, argc, argv@yardsticks@); }
")
    add_executable(${target} "${source}")
    target_link_libraries(${target} PRIVATE ${ARG_KERNELS} heed::runner ${yardsticks_library})
endfunction()

# HEED_PTXAS: NVIDIA's assembler, which tells how many registers kernels of CUDA take; `explain` says that they are unknown
# where there is none.
function(_heed_find_ptxas)
    set(folders)
    if(HEED_PYTHON_ENVIRONMENT)
        file(GLOB folders "${HEED_PYTHON_ENVIRONMENT}/lib/python3*/site-packages/nvidia/cuda_nvcc/bin")
    endif()
    find_program(HEED_PTXAS ptxas HINTS ${folders})
endfunction()

function(_heed_check_values context keyword given)
    foreach(value IN LISTS given)
        if(NOT value IN_LIST ARGN)
            list(JOIN ARGN " " known)
            message(FATAL_ERROR "${context}: ${keyword} has the unknown value '${value}'. Known: ${known}.")
        endif()
    endforeach()
endfunction()

# TARGETS that there are, with their levels, as the kernel table names them, and those among them of GPUs. The features
# of CPUs are those that the runtime asks the processor for (heed/isa.hpp) before it picks a kernel; the generator knows
# the same list.
function(_heed_known_targets result_targets result_levels result_devices)
    set(targets)
    set(levels)
    set(devices)
    foreach(known IN ITEMS
            x86-64-linux-avx512_skylake:avx512:cpu x86-64-linux-avx2-fma-f16c:avx2:cpu x86-64-linux-avx2-fma:avx2:cpu
            x86-64-linux:x86_64:cpu arm-64-linux:neon:cpu
            cuda:cuda_80:gpu cuda_capability_75:cuda_75:gpu cuda_capability_80:cuda_80:gpu
            cuda_capability_86:cuda_86:gpu opencl:opencl:gpu vulkan:vulkan:gpu)
        string(REPLACE ":" ";" known "${known}")
        list(POP_FRONT known target level kind)
        list(APPEND targets ${target})
        list(APPEND levels ${level})
        if(kind STREQUAL gpu)
            list(APPEND devices ${target})
        endif()
    endforeach()
    set(${result_targets} ${targets} PARENT_SCOPE)
    set(${result_levels} ${levels} PARENT_SCOPE)
    set(${result_devices} ${devices} PARENT_SCOPE)
endfunction()

function(_heed_isa context halide_target result)
    _heed_known_targets(targets levels devices)
    list(FIND targets "${halide_target}" at)
    if(at EQUAL -1)
        list(JOIN targets " " known)
        message(FATAL_ERROR "${context}: TARGETS has '${halide_target}', for which Heed has no schedule. Known: cpu ${known}.")
    endif()
    list(GET levels ${at} level)
    set(${result} ${level} PARENT_SCOPE)
endfunction()

# The levels of the processor that is built for, the best first; every processor of the kind has the last.
function(heed_default_targets result)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
        set(${result} arm-64-linux PARENT_SCOPE)
    else()
        set(${result} x86-64-linux-avx512_skylake x86-64-linux-avx2-fma-f16c x86-64-linux PARENT_SCOPE)
    endif()
endfunction()

# Of these targets, those of the processor that is built for: its compiler assembles the kernels.
function(_heed_targets_of_processor context targets result)
    heed_default_targets(levels)
    list(GET levels -1 base)
    string(REGEX MATCH "^[a-z0-9]+-" processor "${base}")
    set(others x86- arm-)
    list(REMOVE_ITEM others ${processor})
    set(of_processor ${targets})
    list(FILTER of_processor EXCLUDE REGEX "^${others}")
    set(why_not_gpus)
    if(NOT processor STREQUAL x86-)
        set(of_gpus ${of_processor})
        list(FILTER of_gpus EXCLUDE REGEX "^${processor}")
        list(FILTER of_processor INCLUDE REGEX "^${processor}")
        if(of_gpus)
            list(JOIN of_gpus " " of_gpus)
            set(why_not_gpus " (${of_gpus}: programs for x86-64 alone start kernels of GPUs.)")
        endif()
    endif()
    if(of_processor AND why_not_gpus)
        message(STATUS "${context}: TARGETS are left out${why_not_gpus}")
    endif()
    if(NOT of_processor)
        list(JOIN targets " " given)
        list(JOIN levels " " known)
        message(FATAL_ERROR "${context}: of TARGETS '${given}' none is for the processor '${CMAKE_SYSTEM_PROCESSOR}', which "
                            "this build is for and whose compiler assembles the kernels.${why_not_gpus} Fix: add one of ${known}, leave "
                            "TARGETS out, or build for another processor by a toolchain file.")
    endif()
    set(${result} ${of_processor} PARENT_SCOPE)
endfunction()

# heed_host_program(<context> <name> <made-for> <command> <depends>)
#
# How a program that writes kernels is run, as the beginning of a command, and what the command depends on. A native
# build makes the program, the target <name>, and leaves a note of it for cross builds; these run it from HEED_HOST_BUILD.
# There it must have been <made-for> the same.
function(heed_host_program context name made_for command depends)
    # Halide keeps what it allocated until the program ends; a leak checker has nothing to find in it.
    set(run ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0)
    if(NOT CMAKE_CROSSCOMPILING)
        file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/heed_host/${name}.$<CONFIG>.txt"
             CONTENT "${made_for};$<TARGET_FILE:${name}>")
        set(${command} ${run} $<TARGET_FILE:${name}> PARENT_SCOPE)
        set(${depends} ${name} PARENT_SCOPE)
        return()
    endif()

    _heed_configure_host_build("${context}")
    file(GLOB notes "${HEED_HOST_BUILD}/heed_host/${name}.*.txt")
    if(NOT notes)
        message(FATAL_ERROR "${context}: HEED_HOST_BUILD '${HEED_HOST_BUILD}' has no program ${name}, which writes the "
                            "kernels. Fix: let it be the build folder of the same project, with the same options, for "
                            "the machine that builds.")
    endif()
    list(GET notes 0 note)
    file(READ "${note}" note)
    list(POP_FRONT note made_for_there)
    if(NOT made_for_there STREQUAL made_for)
        message(FATAL_ERROR "${context}: this build needs kernels of ${made_for}, but the ${name} of HEED_HOST_BUILD "
                            "'${HEED_HOST_BUILD}' writes those of ${made_for_there}. Fix: build both from the same folder, "
                            "with the same VARIANTS, VARIANTS_HEADER and NAMESPACE.")
    endif()
    get_property(known GLOBAL PROPERTY HEED_HOST_PROGRAMS)
    if(NOT known)
        cmake_language(DEFER DIRECTORY "${CMAKE_SOURCE_DIR}" CALL _heed_build_host_programs)
    endif()
    set_property(GLOBAL APPEND PROPERTY HEED_HOST_PROGRAMS ${name})
    set_property(GLOBAL APPEND PROPERTY HEED_HOST_FILES "${note}")
    set(${command} ${run} "${note}" PARENT_SCOPE)
    set(${depends} "${note}" heed_host_programs PARENT_SCOPE)
endfunction()

# Once for each time that a cross build is configured, so that the other one knows the same declarations.
function(_heed_configure_host_build context)
    get_property(done GLOBAL PROPERTY HEED_HOST_BUILD_CONFIGURED)
    if(done)
        return()
    endif()
    set(fix "Fix: configure the same project for this machine, 'cmake -S <project> -B <folder>', without a toolchain file, "
            "and set HEED_HOST_BUILD to that folder.")
    list(JOIN fix "" fix)
    if("${HEED_HOST_BUILD}" STREQUAL "")
        message(FATAL_ERROR "${context}: this build is for another machine (${CMAKE_SYSTEM_PROCESSOR}), programs that write "
                            "kernels run on this one (${CMAKE_HOST_SYSTEM_PROCESSOR}), and HEED_HOST_BUILD, which says where "
                            "they are, is not set. ${fix}")
    elseif(NOT EXISTS "${HEED_HOST_BUILD}/CMakeCache.txt")
        message(FATAL_ERROR "${context}: HEED_HOST_BUILD '${HEED_HOST_BUILD}', whose programs write the kernels, is not the "
                            "build folder of a project. ${fix}")
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} "${HEED_HOST_BUILD}" RESULT_VARIABLE failed OUTPUT_VARIABLE output
                    ERROR_VARIABLE output)
    if(failed)
        message(FATAL_ERROR "${context}: HEED_HOST_BUILD '${HEED_HOST_BUILD}', whose programs write the kernels, cannot be "
                            "configured:\n${output}")
    endif()
    set_property(GLOBAL PROPERTY HEED_HOST_BUILD_CONFIGURED TRUE)
endfunction()

function(_heed_build_host_programs)
    get_property(names GLOBAL PROPERTY HEED_HOST_PROGRAMS)
    get_property(files GLOBAL PROPERTY HEED_HOST_FILES)
    add_custom_target(heed_host_programs
        COMMAND ${CMAKE_COMMAND} --build "${HEED_HOST_BUILD}" --target ${names}
        BYPRODUCTS ${files}
        COMMENT "Programs that write kernels, in ${HEED_HOST_BUILD}"
        USES_TERMINAL VERBATIM)
endfunction()
