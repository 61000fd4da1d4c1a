// SPDX-License-Identifier: BSD-3-Clause
// The settings of which a job has one value for all its processes, in a process that acprun has
// started: what acprun fixed wins over this process's command line. Reads its arguments only.
// Called by acp_init.
// Tests: tests/unit/api/job_settings_test.cpp.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "node/control.hpp"

namespace acp::api {

// Makes the job's settings this process's own.
//   config     the configuration of this process, with its command line
//   at_start   the configuration from acprun: the environment alone
//   arguments  of acp_init, "NAME=VALUE"
// Returns a sentence per argument that has no effect because the job has another value.
std::vector<std::string> follow_job(base::Config& config,
                                    base::Config at_start,
                                    const node::Shape& shape,
                                    const std::vector<std::string>& arguments);

}  // namespace acp::api
