// SPDX-License-Identifier: BSD-3-Clause
// The job's key as a credential of MUNGE, for ways that carry it in clear text, such as srun's
// standard input: the munge daemons of a cluster share a key, with which they encrypt what a
// process gives them, and decrypt it for processes of the same user alone. libmunge is found at run
// time. Knows no channel. Any thread; each call asks the daemon of this machine, and blocks for
// that.
// Tests: tests/tools (acprun_launchers_test.py).
#pragma once

#include <string>

#include "base/status.hpp"

#include "launch/job_key.hpp"

namespace acp::launch {

inline constexpr std::size_t credential_bytes_max = 4096;

// Returns text that a process of this user can open once on each machine, within the longest time
// that the daemons allow. Errors: unsupported (no libmunge; the daemon does not answer, or refuses:
// the message has its words), memory.
base::Result<std::string> seal_key(JobKey& key);

// Errors: as seal_key(); argument (another user's process has sealed it, or it is no key).
base::Result<JobKey> open_sealed_key(const std::string& credential);

}  // namespace acp::launch
