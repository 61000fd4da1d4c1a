# SPDX-License-Identifier: BSD-3-Clause
# acpsim parses its command line by a header-only library and runs seeds on threads.
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
target_link_libraries(acpsim PRIVATE acp_sim CLI11::CLI11 Threads::Threads)
acp_build_on_demand(acpsim)  # it is for who works on the protocol
