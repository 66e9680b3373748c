# What find_package(Heed) finds.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(package_folder "${CMAKE_INSTALL_LIBDIR}/cmake/Heed")
set(installed heed_dsl heed_table heed_runtime heed_runner)
foreach(native IN ITEMS heed_generators heed_yardsticks)
    if(TARGET ${native})
        list(APPEND installed ${native})
    endif()
endforeach()
install(TARGETS ${installed} EXPORT HeedTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY dsl/include/ generators/include/ runtime/include/ DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.hpp")
install(EXPORT HeedTargets NAMESPACE heed:: DESTINATION "${package_folder}")
# What a project has to find again.
set(HEED_GENERATES FALSE)
set(HEED_DRAWS FALSE)
if(TARGET heed_generators)
    set(HEED_GENERATES TRUE)
endif()
if(TARGET heed_inspect)
    set(HEED_DRAWS TRUE)
endif()
configure_package_config_file(generators/cmake/HeedConfig.cmake.in "${CMAKE_BINARY_DIR}/HeedConfig.cmake"
                              INSTALL_DESTINATION "${package_folder}")
write_basic_package_version_file("${CMAKE_BINARY_DIR}/HeedConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/HeedConfig.cmake" "${CMAKE_BINARY_DIR}/HeedConfigVersion.cmake"
              generators/cmake/HeedHelpers.cmake generators/cmake/gpu_registers.cmake
        DESTINATION "${package_folder}")
