# SPDX-License-Identifier: BSD-3-Clause
# The library that the device process loads.
add_library(veo_hello_device MODULE "${CMAKE_CURRENT_LIST_DIR}/device/functions.c")
acp_configure(veo_hello_device)
set_target_properties(veo_hello_device PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
add_dependencies(veo_hello veo_hello_device)
target_compile_definitions(veo_hello PRIVATE VEO_HELLO_LIBRARY="$<TARGET_FILE:veo_hello_device>")
