// SPDX-License-Identifier: BSD-3-Clause
// Who this process is in its job, from what the launcher left in the environment; without a launcher it is
// rank 0 of 1. When another launcher's variables say that there are more processes but none of ours serves
// them, that is an error with an explanation, not N jobs of one rank. Reads its argument only. Any thread.
// Tests: tests/unit/job/identity_test.cpp.
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
    int node_file = -1;  // inherited descriptor of the node segment; -1: no launcher, make one

    [[nodiscard]] bool is_launched() const noexcept { return node_file >= 0; }
};

// What the launcher sets and identity_of reads, as "NAME=VALUE".
[[nodiscard]] std::vector<std::string> environment_of(const Identity& identity);

// Errors: config (a variable of ours is missing or does not parse; another launcher's job without a server).
base::Result<Identity> identity_of(const std::vector<std::string>& environment);

}  // namespace acp::job
