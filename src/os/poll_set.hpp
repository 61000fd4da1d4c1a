// SPDX-License-Identifier: BSD-3-Clause
// Waits for many descriptors at once: an epoll set. Events come in the order in which the
// descriptors became ready, for example when several processes end one after the other. Knows
// nothing of what they mean. A PollSet belongs to one thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// Waits until one of the descriptors can be read or is hung up; negative ones are ignored.
//   timeout_ns  < 0: no limit
// true when one of them is ready. Blocks.
bool wait_readable(int fd, int other_fd, std::int64_t timeout_ns) noexcept;
bool wait_readable(std::span<const int> fds, std::int64_t timeout_ns) noexcept;  // up to 16

enum class PollFor { reading, writing };

struct PollEvent {
    std::uint64_t token = 0;  // the token passed to add()
    bool is_hung_up = false;  // the other end was closed or the descriptor is broken
};

inline constexpr std::uint64_t poll_forever = ~0ULL;

class PollSet {
public:
    // Errors: limit (descriptors used up), system.
    static Result<PollSet> create();

    // Watches a descriptor, level-triggered, until remove() or its last copy is closed.
    //   token  returned with each event
    // Errors: unsupported (a regular file: it is always ready), system.
    Status add(int fd, std::uint64_t token, PollFor what = PollFor::reading);

    // add() for reading, for callers that can only retry after a failure. True when the descriptor
    // is watched, and when it was closed and so has no events. False: the kernel has no memory for
    // it.
    [[nodiscard]] bool try_add(int fd, std::uint64_t token) noexcept;

    // Watches a descriptor for reading, edge-triggered: each time it becomes readable gives one
    // event, whether it is read or not. Errors: see add().
    Status add_edge_triggered(int fd, std::uint64_t token);

    // Watches a descriptor for reading from the next arm() on, for one event. Errors: see add().
    Status add_disarmed(int fd, std::uint64_t token);
    // For a descriptor given to add_disarmed(): arm() enables its next event, disarm() disables it.
    // Any thread.
    void arm(int fd, std::uint64_t token) noexcept;
    void disarm(int fd, std::uint64_t token) noexcept;

    // Does nothing when the descriptor is not watched.
    void remove(int fd) noexcept;

    // Waits until a descriptor is ready or the timeout has passed, and writes up to events.size()
    // events.
    //   timeout_ns  poll_forever: no limit; rounded up to whole milliseconds before Linux 5.11
    // Returns how many were written; 0 after the timeout or a signal. If the program has closed
    // this set's own descriptor, it returns 0 after 1 ms, so that a caller's loop does not keep a
    // processor busy. Blocks.
    std::size_t wait(std::span<PollEvent> events, std::uint64_t timeout_ns) noexcept;

    // Readable while wait() would find an event, so that another poll can watch this set.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

private:
    explicit PollSet(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

}  // namespace acp::os
