# SPDX-License-Identifier: BSD-3-Clause
# acpbench measures and draws the exchanges of a paper, by all schedulers that its plans are compared with.
target_link_libraries(acpbench PRIVATE acp_exchange_study)
# The kernel's faults, as the programs of bench/ time them.
target_include_directories(acpbench PRIVATE "${PROJECT_SOURCE_DIR}/bench")
# Programs on shared pages divide their loops among threads by OpenMP where the compiler has it: one file of them.
set(threaded "${PROJECT_SOURCE_DIR}/tools/acpbench/rank_threads.cpp")
find_package(OpenMP COMPONENTS CXX)
if(OpenMP_CXX_FOUND)
    set_source_files_properties("${threaded}" PROPERTIES
        COMPILE_OPTIONS "${OpenMP_CXX_FLAGS}" COMPILE_DEFINITIONS ACP_BENCH_OPENMP=1)
    target_link_libraries(acpbench PRIVATE ${OpenMP_CXX_LIBRARIES})
else()
    set_source_files_properties("${threaded}" PROPERTIES
        COMPILE_OPTIONS -Wno-unknown-pragmas COMPILE_DEFINITIONS ACP_BENCH_OPENMP=0)
endif()
# An end of an exchange of messages, in this program and, as a library that stands beside those of ACP, in device processes.
set(ipc_end "${PROJECT_SOURCE_DIR}/tools/acpbench/ipc_end/ipc_end.cpp")
target_sources(acpbench PRIVATE "${ipc_end}")
add_library(acpbench_ipc MODULE "${ipc_end}")
acp_configure(acpbench_ipc)
set(ipc_folder "${CMAKE_INSTALL_LIBDIR}/acp")
set_target_properties(acpbench_ipc PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${ipc_folder}")
add_dependencies(acpbench acpbench_ipc)
file(RELATIVE_PATH ipc_library "/${CMAKE_INSTALL_BINDIR}" "/${ipc_folder}/acpbench_ipc.so")
# Of one file, because other programs share the precompiled headers of this one.
set_source_files_properties("${PROJECT_SOURCE_DIR}/tools/acpbench/ipc_device.cpp" PROPERTIES
    COMPILE_DEFINITIONS ACP_BENCH_IPC_END="${ipc_library}" SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
install(TARGETS acpbench_ipc LIBRARY DESTINATION "${ipc_folder}" COMPONENT tools)
set_source_files_properties("${threaded}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
