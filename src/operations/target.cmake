# SPDX-License-Identifier: BSD-3-Clause
# The table of all operations has an object file of its own: a test program that defines another table takes the other
# objects of this layer without it.
set_source_files_properties("${CMAKE_CURRENT_SOURCE_DIR}/src/operations/library_operations.cpp"
    PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
