// SPDX-License-Identifier: BSD-3-Clause
// The output of ACP_REPORT=1 at acp_finalize: one line per rank of how many commands and bytes took
// which path since the process joined the job. Tests: tests/unit/api/report_test.cpp.
#pragma once

#include "gma/gma.hpp"
#include "node/member.hpp"

namespace acp::api {

void print_report(const node::Member& member, gma::Gma& gma);

}  // namespace acp::api
