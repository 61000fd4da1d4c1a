# SPDX-License-Identifier: BSD-3-Clause
# Tests of worker processes start acp-worker, and load a library into it.
add_library(device_functions MODULE EXCLUDE_FROM_ALL
    "${PROJECT_SOURCE_DIR}/tests/unit/offload/library/device_functions.cpp")
acp_configure(device_functions)
set_target_properties(device_functions PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests" PREFIX "")
add_dependencies(tests device_functions)
add_dependencies(unit_offload device_functions)
if(TARGET acp-worker)  # a build without programs knows the tests, and builds those that need none
    add_dependencies(unit_offload acp-worker)
endif()
target_compile_definitions(unit_offload PRIVATE
    ACP_TEST_DEVICE_FUNCTIONS="$<TARGET_FILE:device_functions>")
