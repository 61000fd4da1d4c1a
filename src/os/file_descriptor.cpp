// SPDX-License-Identifier: BSD-3-Clause
// Closes a descriptor, and moves one away from the standard streams.
#include "os/file_descriptor.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace acp::os {

int FileDescriptor::moved_up(int descriptor) noexcept {
    const int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, standard_streams);
    // If the limit lies below the least number, the kernel calls that number invalid.
    const int error = errno == EINVAL ? EMFILE : errno;
    ::close(descriptor);
    if (higher < 0) errno = error;
    return higher;
}

void FileDescriptor::close() noexcept {
    // Linux has released the descriptor even if close() reports EINTR: never close it twice.
    if (descriptor_ >= 0) ::close(release());
}

}  // namespace acp::os
