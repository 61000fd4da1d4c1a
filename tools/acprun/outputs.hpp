// SPDX-License-Identifier: BSD-3-Clause
// Passes what the agents of several nodes write on to acprun's own stdout and stderr: lines of
// several nodes do not mix, and a reader that does not read blocks neither acprun nor its watch
// over the agents. Not used with one agent on this machine, which writes there itself. Called by
// the main thread; two threads of its own move the bytes.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <optional>

#include "base/status.hpp"
#include "os/poll_set.hpp"

#include "../acp-agent/output.hpp"
#include "agent_link.hpp"

namespace acp::run {

class Outputs {
public:
    // Numbers of requests to the output threads, 0 for none.
    using FlushRequests = std::array<std::uint64_t, 2>;

    // One for the carrier of standard output, one for that of standard error.
    using LeftLines = std::array<agent::LeftLine, 2>;

    // Makes the output threads; the caller must call take_news() for events with this token.
    // Errors: limit, system.
    base::Status prepare(os::PollSet& poll, std::uint64_t token);

    // Makes the pipes of one agent and returns the ends to which it writes. Errors: limit, system.
    //   passing  when its lines are passed on
    //   from     names the node
    base::Result<AgentStreams> add(agent::Passing passing, const std::string& from);

    // Call when all agents have been started. Errors: limit, system.
    base::Status start();

    // Call when all agents are gone: passes on what is still in the pipes; then is_complete().
    void finish() noexcept;

    void take_news() noexcept;

    [[nodiscard]] bool is_used() const noexcept { return carriers_[0] != nullptr; }

    [[nodiscard]] bool is_complete() const noexcept;

    // Whether what was written last to standard error, or to standard output if that is the same
    // file, ends in the middle of a line. Then the caller must write a newline there.
    bool end_open_line() noexcept;

    // Call before a message, and keep the result until it was written: no thread writes in between
    // to the file where it stands. Waits for a write that has begun, as the message's own would.
    [[nodiscard]] std::unique_lock<std::mutex> begin_message() {
        return message_line_.begin_write();
    }

    // Asks the threads that write where messages are written to pass on what the pipes hold now.
    //   left  unfinished lines of an agent's streams, which are passed on too
    FlushRequests request_flush(const LeftLines& left);

    [[nodiscard]] bool has_flushed(const FlushRequests& requests) const noexcept;

    // The failure that ends the job; nullopt for none.
    [[nodiscard]] std::optional<agent::OutputFailure> failure() const;

    // Forgets the threads, blocked or not: the process is about to end without destroying objects.
    void abandon() noexcept;

private:
    agent::LineState
        message_line_;  // the last line of the file to which acprun writes its messages
    agent::OutputThreads carriers_;
};

}  // namespace acp::run
