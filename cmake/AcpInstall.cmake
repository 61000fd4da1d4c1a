# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: libraries, headers, pkg-config file, CMake package, compiler wrappers, licences, the
# examples of one file. (Tools are installed where they are made, AcpPrograms.cmake; documents likewise, AcpDocs.cmake.) The tree may be moved
# afterwards: everything in it finds its neighbours from its own place.
include(CMakePackageConfigHelpers)

set(acp_package "${CMAKE_INSTALL_LIBDIR}/cmake/ACP")
install(TARGETS acp EXPORT ACPTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(PROJECT_IS_TOP_LEVEL)
    install(TARGETS acp_static EXPORT ACPTargets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/LICENSES" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/examples" DESTINATION "${CMAKE_INSTALL_DOCDIR}" FILES_MATCHING PATTERN "*.c"
        PATTERN "*.cpp" PATTERN "kmer_count" EXCLUDE)

install(EXPORT ACPTargets NAMESPACE ACP:: DESTINATION "${acp_package}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ACPConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/ACPConfig.cmake" INSTALL_DESTINATION "${acp_package}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ACPConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ACPConfig.cmake" "${PROJECT_BINARY_DIR}/ACPConfigVersion.cmake"
        DESTINATION "${acp_package}")

file(RELATIVE_PATH acp_pc_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/+$" "" acp_pc_to_prefix "${acp_pc_to_prefix}")
# The loader searches the folders of the system by itself, and a program of a package must not name them.
foreach(place system elsewhere)
    set(acp_pc_rpath " -Wl,-rpath,\${libdir}")
    if(place STREQUAL "system")
        set(acp_pc_rpath "")
    endif()
    configure_file("${PROJECT_SOURCE_DIR}/cmake/acp.pc.in" "${PROJECT_BINARY_DIR}/pkgconfig/${place}/acp.pc" @ONLY)
endforeach()
install(CODE "
    set(place elsewhere)
    if(CMAKE_INSTALL_PREFIX MATCHES \"^/+(usr/*)?$\")
        set(place system)
    endif()
    file(INSTALL \"${PROJECT_BINARY_DIR}/pkgconfig/\${place}/acp.pc\"
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")")

# The compiler wrappers, for the install tree and, in bin/, for the build tree.
function(acp_write_wrapper name variable default)
    set(ACP_WRAPPER_VARIABLE "${variable}")
    set(ACP_WRAPPER_DEFAULT "${default}")
    set(ACP_WRAPPER_INCLUDE "$prefix/${CMAKE_INSTALL_INCLUDEDIR}")
    set(ACP_WRAPPER_LIB "$prefix/${CMAKE_INSTALL_LIBDIR}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/acpcc.in" "${PROJECT_BINARY_DIR}/wrappers/${name}" @ONLY
                   FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    install(PROGRAMS "${PROJECT_BINARY_DIR}/wrappers/${name}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
    if(PROJECT_IS_TOP_LEVEL)
        set(ACP_WRAPPER_INCLUDE "${PROJECT_SOURCE_DIR}/include")
        set(ACP_WRAPPER_LIB "$prefix/lib")
        configure_file("${PROJECT_SOURCE_DIR}/cmake/acpcc.in" "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name}" @ONLY
                       FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endif()
endfunction()
acp_write_wrapper(acpcc ACP_CC cc)
acp_write_wrapper(acpc++ ACP_CXX c++)
