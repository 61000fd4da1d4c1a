// SPDX-License-Identifier: BSD-3-Clause
// Carries what is typed at the terminal to rank 0, which is in another process group and so may not
// read the terminal itself. Reads at most a pipe's size ahead of rank 0. Does not read the terminal
// while the job is in the background. Knows nothing of ranks. The agent's main thread.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "os/file_descriptor.hpp"
#include "os/poll_set.hpp"

namespace acp::agent {

class StdinPump {
public:
    StdinPump() noexcept = default;

    // Starts carrying.
    //   poll    must outlive the pump; the caller calls on_*() for events with the tokens
    //   target  writing end of rank 0's input
    // Errors: system.
    base::Status start(os::PollSet& poll,
                       os::FileDescriptor target,
                       std::uint64_t read_token,
                       std::uint64_t write_token);

    void on_readable(std::uint64_t now_ns);
    void on_writable();

    // When to call on_time(); poll_forever: never.
    [[nodiscard]] std::uint64_t deadline_ns() const noexcept { return look_again_ns_; }

    void on_time();

private:
    void watch_input();
    void stop();

    os::PollSet* poll_ = nullptr;
    os::FileDescriptor target_;
    std::uint64_t read_token_ = 0;
    std::uint64_t write_token_ = 0;
    std::string held_;  // bytes that were read and not yet written
    std::uint64_t look_again_ns_ = os::poll_forever;
};

}  // namespace acp::agent
