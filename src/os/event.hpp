// SPDX-License-Identifier: BSD-3-Clause
// A counter one thread signals and another waits for in poll: an eventfd. Knows nothing of its
// meaning. signal() from any thread; drain() by whoever waits.
#pragma once

#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;

// Makes the eventfd `fd` readable, however many have a copy of it. False, and nothing is written, when `fd` is none: the
// program has closed it, and it may be a file of the program's now. Async-signal-safe.
bool signal_event(int fd) noexcept;

// A copy, close-on-exec, of an inherited eventfd, which stays as it is. Errors: system (fd is none: somebody has
// closed it, or another file has its number), limit.
Result<FileDescriptor> adopt_event(int fd);

class Event {
public:
    // Errors: limit (descriptors used up), system.
    static Result<Event> create();

    // Makes fd() readable until the next drain. False as signal_event(). Async-signal-safe.
    bool signal() noexcept;

    // true when signalled since the last drain; takes all signals at once. Does not block.
    bool drain() noexcept;

    // For poll; close-on-exec, nonblocking.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

    // Forgets the descriptor, which the program has closed: its number is not ours to close.
    void abandon() noexcept { (void)descriptor_.release(); }

private:
    explicit Event(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

}  // namespace acp::os
