// SPDX-License-Identifier: BSD-3-Clause
// The identity of this process in its job, from the variables that the launcher left in the environment; without a launcher it
// is rank 0 of 1. If another launcher's variables say that there are more processes but no ACP launcher serves them, that is an
// error with an explanation, not N jobs of one rank. Reads its argument only. Any thread. Tests:
// tests/unit/job/identity_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace acp::job {

struct Identity {
    std::uint32_t rank = 0;
    std::uint32_t procs = 1;
    std::uint32_t slot = 0;
    // inherited descriptor of the node segment; -1: no launcher, make a segment
    int node_file = -1;

    [[nodiscard]] bool is_launched() const noexcept { return node_file >= 0; }
};

// The variables that the launcher sets and identity_of reads, as "NAME=VALUE".
[[nodiscard]] std::vector<std::string> environment_of(const Identity& identity);

// Errors: config (an ACP variable is missing or does not parse; the job of another launcher without an ACP launcher).
base::Result<Identity> identity_of(const std::vector<std::string>& environment);

}  // namespace acp::job
