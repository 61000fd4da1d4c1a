// SPDX-License-Identifier: BSD-3-Clause
// Signals as data read from a descriptor instead of interruptions, and their names. Knows nothing
// of what a program does about them. A SignalFd belongs to one thread; any thread may call the
// functions for names.
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

// Blocks every signal for the calling thread and for the threads and processes that it starts from
// now on. A signal sent before a SignalFd is created stays pending for it.
void block_all_signals() noexcept;

// Whether the process was started with this signal ignored (nohup, a shell's "&") or ignores it
// now.
[[nodiscard]] bool is_signal_ignored(int signal) noexcept;

class SignalFd {
public:
    // Receives these signals, which the caller must have blocked in all threads.
    // Errors: limit (descriptors used up), system.
    static Result<SignalFd> create(std::span<const int> signals);

    // Takes a pending signal and returns its number; nullopt when there is none. Does not block.
    std::optional<int> take() noexcept;

    // For poll; close-on-exec, nonblocking.
    [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }

private:
    explicit SignalFd(FileDescriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

    FileDescriptor descriptor_;
};

// "SIGKILL"; "signal 77" for one without a name.
[[nodiscard]] std::string signal_name(int signal);

// "Killed": the system's description of the signal.
[[nodiscard]] std::string signal_words(int signal);

// Stops this process as SIGSTOP does, until it is continued.
void stop_this_process() noexcept;

}  // namespace acp::os
