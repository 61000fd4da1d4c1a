# SPDX-License-Identifier: BSD-3-Clause
# The steps of operations are counted in code that is compiled for ThreadSanitizer and linked with a counter in its place: all
# operations, and the headers that they include. A tree whose compiler adds checks of its own has no such program.
set(here "${PROJECT_SOURCE_DIR}/tests/unit/operations")
if(NOT ACP_SANITIZE AND NOT ACP_FUZZ AND NOT ACP_LTO)
    file(GLOB counted CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/allocator/*.cpp" "${PROJECT_SOURCE_DIR}/src/operations/*.cpp"
        "${PROJECT_SOURCE_DIR}/src/pages/checked_page.cpp" "${PROJECT_SOURCE_DIR}/src/pages/difference.cpp"
        "${PROJECT_SOURCE_DIR}/src/pages/difference_elsewhere.cpp")
    add_library(acp_counted_operations OBJECT EXCLUDE_FROM_ALL ${counted})
    acp_configure(acp_counted_operations)
    target_include_directories(acp_counted_operations PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include"
        "${ACP_GENERATED}")
    target_compile_options(acp_counted_operations PRIVATE -O1 -fsanitize=thread $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    acp_gtest(unit_operations_steps LABEL unit
        SOURCES "${here}/steps/operation_steps_test.cpp"
            "${here}/steps/long_containers.cpp"
            "${here}/steps/step_counter.cpp"
            "${here}/hostile_scene.cpp"
        LIBRARIES acp_counted_operations acp_operations acp_claims)
    target_link_options(unit_operations_steps PRIVATE
        -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset,--wrap=memcmp)
endif()
