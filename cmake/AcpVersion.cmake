# SPDX-License-Identifier: BSD-3-Clause
# Generates base/version.hpp: the project's version and a description of the build. The version stands in include/acp/version.h
# alone. The header is made again when the checked-out commit changes, and is touched only when its text changes.

set(ACP_GENERATED "${PROJECT_BINARY_DIR}/generated")
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
add_custom_command(
    OUTPUT "${acp_version_stamp}"
    BYPRODUCTS "${ACP_GENERATED}/base/version.hpp"
    COMMAND "${CMAKE_COMMAND}"
        "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${ACP_GENERATED}/base/version.hpp"
        "-DVERSION=${PROJECT_VERSION}" "-DGIT=${GIT_EXECUTABLE}"
        -P "${PROJECT_SOURCE_DIR}/cmake/write_version.cmake"
    COMMAND "${CMAKE_COMMAND}" -E touch "${acp_version_stamp}"
    DEPENDS ${acp_head_log}
            "${PROJECT_SOURCE_DIR}/cmake/write_version.cmake" "${PROJECT_SOURCE_DIR}/cmake/version.hpp.in"
    COMMENT "Describing the build" VERBATIM)
add_custom_target(acp_version DEPENDS "${acp_version_stamp}")
