# SPDX-License-Identifier: BSD-3-Clause
# Generates base/version.hpp: the project's version, a description of the build, and the layout hash by
# which processes of a job recognise each other. The version stands in project() alone. The header is made
# again when a header of src/ or the checked-out commit changes, and is touched only when its text changes.

set(ACP_GENERATED "${PROJECT_BINARY_DIR}/generated")
file(GLOB_RECURSE acp_layout_headers CONFIGURE_DEPENDS
     "${PROJECT_SOURCE_DIR}/src/*.hpp" "${PROJECT_SOURCE_DIR}/src/*.h")
list(SORT acp_layout_headers)

find_package(Git QUIET)
set(acp_head_log "")
if(GIT_FOUND)
    execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --git-path logs/HEAD
                    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" RESULT_VARIABLE acp_git_result
                    OUTPUT_VARIABLE acp_head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    cmake_path(ABSOLUTE_PATH acp_head_log BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(NOT acp_git_result EQUAL 0 OR NOT EXISTS "${acp_head_log}")
        set(acp_head_log "")
    endif()
endif()

set(acp_version_stamp "${PROJECT_BINARY_DIR}/generated/version.stamp")
file(WRITE "${PROJECT_BINARY_DIR}/generated/layout_headers.txt.new" "${acp_layout_headers}")
file(COPY_FILE "${PROJECT_BINARY_DIR}/generated/layout_headers.txt.new"
     "${PROJECT_BINARY_DIR}/generated/layout_headers.txt" ONLY_IF_DIFFERENT)
add_custom_command(
    OUTPUT "${acp_version_stamp}"
    BYPRODUCTS "${ACP_GENERATED}/base/version.hpp"
    COMMAND "${CMAKE_COMMAND}"
        "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${ACP_GENERATED}/base/version.hpp"
        "-DVERSION=${PROJECT_VERSION}" "-DGIT=${GIT_EXECUTABLE}"
        "-DARCHITECTURE=${CMAKE_SYSTEM_PROCESSOR}" "-DHEADERS=${ACP_GENERATED}/layout_headers.txt"
        -P "${PROJECT_SOURCE_DIR}/cmake/write_version.cmake"
    COMMAND "${CMAKE_COMMAND}" -E touch "${acp_version_stamp}"
    DEPENDS ${acp_layout_headers} ${acp_head_log} "${ACP_GENERATED}/layout_headers.txt"
            "${PROJECT_SOURCE_DIR}/cmake/write_version.cmake" "${PROJECT_SOURCE_DIR}/cmake/version.hpp.in"
    COMMENT "Describing the build" VERBATIM)
add_custom_target(acp_version DEPENDS "${acp_version_stamp}")
