// SPDX-License-Identifier: BSD-3-Clause
// Byte streams between processes: pipes and connected socket pairs, and reading and writing them in
// pieces. Knows nothing of lines. Any thread; nothing here raises SIGPIPE if the caller blocks it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

struct Pipe {
    FileDescriptor reading;
    FileDescriptor writing;
};

// Both ends close-on-exec and blocking. Errors: limit (descriptors used up), system.
Result<Pipe> make_pipe();

struct StreamPair {
    FileDescriptor near;
    FileDescriptor far;
};

// Two connected ends, each for both directions; close-on-exec, blocking.
// Errors: limit (descriptors used up), system.
Result<StreamPair> make_stream_pair();

// Applies to every copy of the descriptor's open file, in other processes too. Errors: system.
Status set_nonblocking(int fd);

// Another descriptor of the same open file, close-on-exec. Errors: limit (descriptors used up), system.
Result<FileDescriptor> duplicate(int fd);

// The other end of a connected socket reads its end after what was written; nothing for anything but a socket.
void end_writing(int fd) noexcept;

// The descriptor will not pass exec. Errors: system (not a descriptor).
Status set_close_on_exec(int fd);

enum class ReadOutcome { some, would_block, end, failed };

struct ReadResult {
    ReadOutcome outcome = ReadOutcome::failed;
    std::size_t bytes = 0;  // > 0 exactly with `some`
    int error = 0;          // errno with `failed`
};

// One read, repeated after signals. Blocks when the descriptor does.
ReadResult read_some(int fd, std::span<char> room) noexcept;

// Writes everything; waits where the descriptor would block. Returns 0 or the errno of the failure
// (EPIPE: nobody reads any more), of which a part may have been written. Blocks.
int write_all(int fd, std::string_view bytes) noexcept;

// Writes what fits now to a nonblocking descriptor: bytes taken, or -errno (never -EAGAIN: that is 0).
std::int64_t write_some(int fd, std::string_view bytes) noexcept;

}  // namespace acp::os
