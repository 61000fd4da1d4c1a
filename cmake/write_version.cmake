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

# What two processes must share to read each other's memory stands in headers: same headers, same layout.
file(READ "${HEADERS}" headers)
set(hashes "${VERSION} ${ARCHITECTURE}")
foreach(header IN LISTS headers)
    if(EXISTS "${header}")
        file(SHA256 "${header}" hash)
        string(APPEND hashes " ${hash}")
    endif()
endforeach()
string(SHA256 LAYOUT_HASH "${hashes}")
string(SUBSTRING "${LAYOUT_HASH}" 0 16 LAYOUT_HASH)
configure_file("${CMAKE_CURRENT_LIST_DIR}/version.hpp.in" "${OUTPUT}" @ONLY)
