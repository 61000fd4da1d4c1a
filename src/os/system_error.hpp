// SPDX-License-Identifier: BSD-3-Clause
// From errno to a Status: the failed call, what it was about, and the system's words. Knows nothing of
// what the caller wanted. Any thread.
#pragma once

#include <string>

#include "base/status.hpp"

namespace acp::os {

// The failure of a system call.
//   call    "memfd_create"; named in the message
//   error   its errno; chooses the code: descriptors or processes used up -> limit, ENOMEM and ENOSPC ->
//           memory, ENOSYS -> unsupported, anything else -> system
//   detail  what the caller wanted, and what to do if that is known; may be empty
base::Status system_failure(const char* call, int error, const std::string& detail);

}  // namespace acp::os
