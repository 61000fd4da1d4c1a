// SPDX-License-Identifier: BSD-3-Clause
// Makes a Status from errno: the failed call, its purpose, and the system's description. Any
// thread.
#pragma once

#include <string>

#include "base/status.hpp"

namespace acp::os {

// Makes the Status of a failed system call.
//   call    "memfd_create"; named in the message
//   error   its errno; determines the code: descriptors or processes used up, or a file longer than
//           allowed (EFBIG) -> limit, ENOMEM and ENOSPC -> memory, ENOSYS -> unsupported, anything
//           else -> system
//   detail  the purpose of the call, and the remedy if it is known; may be empty
base::Status system_failure(const char* call, int error, const std::string& detail);

}  // namespace acp::os
