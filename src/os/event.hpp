// SPDX-License-Identifier: BSD-3-Clause
// A counter that one thread signals and another waits for in poll: an eventfd. Knows nothing of its
// meaning. Any thread may call signal(); the waiting thread calls drain().
#pragma once

#include <utility>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;

// Whether `fd` can be an eventfd: it is open, and no file, pipe or socket. Async-signal-safe.
[[nodiscard]] bool is_event(int fd) noexcept;

// Makes the eventfd `fd` readable for all processes that have a copy of it. False, without a write,
// when `fd` is no eventfd: the program has closed it, and its number may be a file of the program
// now. Async-signal-safe.
bool signal_event(int fd) noexcept;

// Returns a close-on-exec copy of an inherited eventfd, which stays open. Errors: system (fd is no
// eventfd: the program has closed it, or another file has its number), limit.
Result<FileDescriptor> adopt_event(int fd);

class Event {
public:
    // Errors: limit (descriptors used up), system.
    static Result<Event> create();

    // Makes fd() readable until the next drain. False under the condition of signal_event().
    // Async-signal-safe.
    bool signal() noexcept;

    // true when it was signalled since the last drain; takes all signals at once. Does not block.
    bool drain() noexcept;

    // For poll; close-on-exec, nonblocking.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

    // Forgets the descriptor without closing it: the program has closed it, and the number may be a
    // file of the program.
    void abandon() noexcept { (void)descriptor_.release(); }

private:
    explicit Event(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

}  // namespace acp::os
