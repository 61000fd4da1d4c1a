// SPDX-License-Identifier: BSD-3-Clause
// Closes a descriptor.
#include "os/file_descriptor.hpp"

#include <unistd.h>

namespace acp::os {

void FileDescriptor::close() noexcept {
    // Linux has released the descriptor even if close() reports EINTR: never close it twice.
    if (descriptor_ >= 0) ::close(release());
}

}  // namespace acp::os
