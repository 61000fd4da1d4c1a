# SPDX-License-Identifier: BSD-3-Clause
# Run by the build: writes base/version.hpp (see AcpVersion.cmake). Works without git and outside a clone.
set(BUILD "${VERSION}")
if(GIT)
    execute_process(COMMAND "${GIT}" describe --always --dirty --tags
                    WORKING_DIRECTORY "${SOURCE}" RESULT_VARIABLE result OUTPUT_VARIABLE description
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(result EQUAL 0)
        string(APPEND BUILD " (${description})")
    endif()
endif()
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.hpp.in" "${OUTPUT}" @ONLY)
