// SPDX-License-Identifier: BSD-3-Clause
// ACP's own command-line pairs, "--acp-NAME VALUE" (as version 3.0 had them) and
// "--acp-NAME=VALUE": each is the variable ACP_NAME given on the command line, and wins over the
// environment. Called by acp_init only.
// Tests: tests/unit/api/arguments_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace acp::api {

// Removes the pairs from the arguments in place and adds them to environment entries, "NAME=VALUE".
//   argc, argv  both NULL, or as main has them
// Errors: config (a name without a value); the arguments are then unchanged.
base::Status take_arguments(int* argc, char*** argv, std::vector<std::string>& environment);

// Puts entries over those of the same names in an environment.
void add_arguments(const std::vector<std::string>& entries, std::vector<std::string>& environment);

}  // namespace acp::api
