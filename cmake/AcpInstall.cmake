# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where: library, headers, pkg-config file, CMake package, compiler wrappers, man
# pages, licence. (Tools are installed where they are made, AcpPrograms.cmake.) The tree may be moved afterwards:
# everything in it finds its neighbours from its own place.
include(CMakePackageConfigHelpers)

set(acp_package "${CMAKE_INSTALL_LIBDIR}/cmake/ACP")
install(TARGETS acp EXPORT ACPTargets LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")

install(EXPORT ACPTargets NAMESPACE ACP:: DESTINATION "${acp_package}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/ACPConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/ACPConfig.cmake" INSTALL_DESTINATION "${acp_package}"
    NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/ACPConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/ACPConfig.cmake" "${PROJECT_BINARY_DIR}/ACPConfigVersion.cmake"
        DESTINATION "${acp_package}")

file(RELATIVE_PATH acp_pc_to_prefix "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
configure_file("${PROJECT_SOURCE_DIR}/cmake/acp.pc.in" "${PROJECT_BINARY_DIR}/acp.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/acp.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

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

# Man pages: docs/man/<name>.<section>.md through pandoc, and for every further name of a page's NAME section
# a page that points to it.
find_program(ACP_PANDOC pandoc)
function(acp_add_man_pages)
    file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/man/*.md")
    set(made "")
    foreach(page IN LISTS pages)
        cmake_path(GET page FILENAME file)
        if(NOT file MATCHES "^(.+)\\.([1-8])\\.md$")
            continue()
        endif()
        set(name "${CMAKE_MATCH_1}")
        set(section "${CMAKE_MATCH_2}")
        set(folder "${PROJECT_BINARY_DIR}/man/man${section}")
        add_custom_command(OUTPUT "${folder}/${name}.${section}"
            COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
            COMMAND "${ACP_PANDOC}" --standalone --from markdown --to man
                    --variable "footer=ACP ${PROJECT_VERSION}" --output "${folder}/${name}.${section}" "${page}"
            DEPENDS "${page}" COMMENT "Man page ${name}(${section})" VERBATIM)
        list(APPEND made "${folder}/${name}.${section}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
        file(READ "${page}" text)
        if(text MATCHES "# *NAME *\n+([^\n]+(\n[^\n#]+)*)")
            string(REGEX REPLACE "[ \n](-|--|—|–|\\\\-)[ \n].*$" "" names "${CMAKE_MATCH_1}")
            string(REPLACE "\\" "" names "${names}")
            string(REGEX MATCHALL "[A-Za-z0-9_+-]+" names "${names}")
            foreach(other IN LISTS names)
                if(NOT other STREQUAL name AND NOT EXISTS "${PROJECT_SOURCE_DIR}/docs/man/${other}.${section}.md")
                    file(CONFIGURE OUTPUT "${folder}/${other}.${section}"
                         CONTENT ".so man${section}/${name}.${section}\n")
                endif()
            endforeach()
        endif()
    endforeach()
    if(made)
        add_custom_target(man ALL DEPENDS ${made})
        install(DIRECTORY "${PROJECT_BINARY_DIR}/man/" DESTINATION "${CMAKE_INSTALL_MANDIR}")
    endif()
endfunction()
if(PROJECT_IS_TOP_LEVEL AND ACP_PANDOC AND NOT CMAKE_CROSSCOMPILING)
    acp_add_man_pages()
endif()
