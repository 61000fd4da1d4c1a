# SPDX-License-Identifier: BSD-3-Clause
# Tests of worker processes start acp-worker, and load libraries into it.
foreach(library device_functions device_system_calls)
    add_library(${library} MODULE EXCLUDE_FROM_ALL
        "${PROJECT_SOURCE_DIR}/tests/unit/offload/library/${library}.cpp")
    acp_configure(${library})
    set_target_properties(${library} PROPERTIES
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests" PREFIX "")
    add_dependencies(tests ${library})
    add_dependencies(unit_offload ${library})
endforeach()
target_include_directories(device_system_calls PRIVATE "${PROJECT_SOURCE_DIR}/include")
if(TARGET acp-worker)  # a build without programs knows the tests, and builds those that need none
    add_dependencies(unit_offload acp-worker)
endif()
target_compile_definitions(unit_offload PRIVATE
    ACP_TEST_DEVICE_FUNCTIONS="$<TARGET_FILE:device_functions>"
    ACP_TEST_DEVICE_SYSTEM_CALLS="$<TARGET_FILE:device_system_calls>")
