// SPDX-License-Identifier: BSD-3-Clause
// The identity of this process in its job, from the variables that the launcher left in the
// environment; without a launcher, and where the user asks for it, it is rank 0 of 1. If another
// launcher's variables say that there are more processes but no ACP launcher serves them, that is
// an error with an explanation, not N jobs of one rank. Reads its argument only. Any thread. Tests:
// tests/unit/job/identity_test.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "job/node_files.hpp"

namespace acp::job {

struct Identity {
    std::uint32_t rank = 0;
    std::uint32_t procs = 1;
    std::uint32_t slot = 0;
    int node_file = -1;  // descriptor of the node segment, if this process inherited it; -1: none
    // where the node's agent answers a process that has not inherited it (job/node_files.hpp)
    std::optional<NodeSocket> node_socket = std::nullopt;

    // No launcher: make a segment.
    [[nodiscard]] bool is_launched() const noexcept {
        return node_file >= 0 || node_socket.has_value();
    }
};

// The variables that the launcher sets and identity_of reads, as "NAME=VALUE".
[[nodiscard]] std::vector<std::string> environment_of(const Identity& identity);

// A job of another launcher that this process is one of several of, or may be.
struct ForeignJob {
    std::string variable;                // "NAME=VALUE" that says so
    std::optional<std::uint32_t> procs;  // if it says how many there are
};

// Nothing where the user has said that each process is to be a job (ACP_SINGLETON=1), or ACP's
// launcher serves this process.
[[nodiscard]] std::optional<ForeignJob> foreign_job_of(const std::vector<std::string>& environment);

// Errors: config (an ACP variable is missing or does not parse; the job of another launcher without
// an ACP launcher).
base::Result<Identity> identity_of(const std::vector<std::string>& environment);

}  // namespace acp::job
