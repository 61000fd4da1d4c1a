# SPDX-License-Identifier: BSD-3-Clause
# acpstat uses header-only libraries for arguments and JSON.
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
target_link_libraries(acpstat PRIVATE CLI11::CLI11 nlohmann_json::nlohmann_json)
