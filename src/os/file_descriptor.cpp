// SPDX-License-Identifier: BSD-3-Clause
// Closing a descriptor.
#include "os/file_descriptor.hpp"

#include <unistd.h>

namespace acp::os {

void FileDescriptor::close() noexcept {
    // Linux has released the descriptor even when close reports EINTR: never try twice.
    if (descriptor_ >= 0) ::close(release());
}

}  // namespace acp::os
