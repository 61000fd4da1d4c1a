# SPDX-License-Identifier: BSD-3-Clause
# acpsim parses its command line by a header-only library and runs seeds on threads.
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
target_link_libraries(acpsim PRIVATE CLI11::CLI11 Threads::Threads)
