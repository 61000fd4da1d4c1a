# SPDX-License-Identifier: BSD-3-Clause
# The library that tests load is that of tests/unit/offload.
add_dependencies(unit_worker device_functions)
target_compile_definitions(unit_worker PRIVATE
    ACP_TEST_DEVICE_FUNCTIONS="${PROJECT_BINARY_DIR}/tests/device_functions.so")
