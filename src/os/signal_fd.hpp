// SPDX-License-Identifier: BSD-3-Clause
// Signals as something to read from a descriptor instead of something that interrupts, and their names.
// Knows nothing of what a program does about them. A SignalFd belongs to one thread; the names may be
// asked for by any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"

namespace acp::os {

using base::Result;
using base::Status;

// Blocks every signal for the calling thread and the threads and processes it makes from now on. What is
// sent meanwhile stays pending for a SignalFd.
void block_all_signals() noexcept;

// Whether the process was started with this signal ignored (nohup, a shell's "&") or ignores it now.
[[nodiscard]] bool is_signal_ignored(int signal) noexcept;

class SignalFd {
public:
    // Collects these signals, which the caller has blocked in all threads.
    // Errors: limit (descriptors used up), system.
    static Result<SignalFd> create(std::span<const int> signals);

    // The number of a pending signal, taken; nullopt when there is none. Does not block.
    std::optional<int> take() noexcept;

    // For poll; close-on-exec, nonblocking.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

private:
    explicit SignalFd(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

// "SIGKILL"; "signal 77" for one without a name.
[[nodiscard]] std::string signal_name(int signal);

// "Killed", the system's words for it.
[[nodiscard]] std::string signal_words(int signal);

// Stops this process as SIGSTOP does, until it is continued.
void stop_this_process() noexcept;

}  // namespace acp::os
