// SPDX-License-Identifier: BSD-3-Clause
// Byte streams between processes: pipes and connected socket pairs, read and written in pieces.
// Knows nothing of lines. Any thread; no call raises SIGPIPE if the caller blocks it.
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

// Makes two connected ends, each for both directions; close-on-exec, blocking.
// Errors: limit (descriptors used up), system.
Result<StreamPair> make_stream_pair();

// Makes the open file description nonblocking, for every copy of the descriptor, in other processes
// too. Errors: system.
Status set_nonblocking(int fd);

// Returns another descriptor of the same open file description, close-on-exec. Errors: limit
// (descriptors used up), system.
Result<FileDescriptor> duplicate(int fd);

// Ends one direction of a connected socket: the other end reads end-of-file after what was written.
// Does nothing for other files.
void end_writing(int fd) noexcept;

// Makes the descriptor close-on-exec. Errors: system (not a descriptor).
Status set_close_on_exec(int fd);

enum class ReadOutcome { some, would_block, end, failed };

struct ReadResult {
    ReadOutcome outcome = ReadOutcome::failed;
    std::size_t bytes = 0;  // > 0 exactly with `some`
    int error = 0;          // errno with `failed`
};

// Reads once; repeats the call after a signal. Blocks if the descriptor does.
ReadResult read_some(int fd, std::span<char> room) noexcept;

// Writes everything; waits where the descriptor would block. Returns 0 or the errno of the failure
// (EPIPE: the reader has closed its end), in which case a part may have been written. Blocks.
int write_all(int fd, std::string_view bytes) noexcept;

// Writes what fits now to a nonblocking descriptor. Returns the bytes taken, or -errno; EAGAIN is
// returned as 0.
std::int64_t write_some(int fd, std::string_view bytes) noexcept;

}  // namespace acp::os
