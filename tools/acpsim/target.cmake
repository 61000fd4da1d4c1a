# SPDX-License-Identifier: BSD-3-Clause
# acpsim runs seeds on threads, and compares plans of exchanges.
find_package(Threads REQUIRED)
target_link_libraries(acpsim PRIVATE acp_sim acp_exchange_study Threads::Threads)
acp_build_on_demand(acpsim)  # it is for who works on the protocol
target_compile_definitions(acpsim PRIVATE ACP_EXACT_SCRIPT="${CMAKE_CURRENT_SOURCE_DIR}/tools/acpsim/exact.py")
