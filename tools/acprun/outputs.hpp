// SPDX-License-Identifier: BSD-3-Clause
// What the agents of several nodes write, on its way to acprun's own stdout and stderr: lines of several nodes do
// not mix, and a reader that reads nothing stops neither acprun nor what it watches. With one agent on this machine
// there is none of this: it writes there itself. Main thread; two threads of its own carry.
#pragma once

#include <array>
#include <memory>

#include "base/status.hpp"
#include "os/poll_set.hpp"

#include "../acp-agent/output.hpp"
#include "agent_link.hpp"

namespace acp::run {

class Outputs {
public:
    // Makes the carriers; events with this token are to be handed to take_news(). Errors: limit, system.
    base::Status prepare(os::PollSet& poll, std::uint64_t token);

    // Makes the pipes of one agent; the ends it writes to are given back. Errors: limit, system.
    //   passing  of its lines
    base::Result<AgentStreams> add(agent::Passing passing);

    // When all agents have been started. Errors: limit, system.
    base::Status start();

    // All agents are gone: what is still in the pipes is carried on, then is_complete().
    void finish() noexcept;

    void take_news() noexcept;

    [[nodiscard]] bool is_used() const noexcept { return carriers_[0] != nullptr; }

    [[nodiscard]] bool is_complete() const noexcept;

    // errno of writing to stdout, or ENOMEM of either; 0 = none.
    [[nodiscard]] int failure() const noexcept;

    // Lets the threads go, blocked or not: the process is about to end without destroying anything.
    void abandon() noexcept;

private:
    std::array<std::unique_ptr<agent::OutputThread>, 2> carriers_;  // stdout, stderr
};

}  // namespace acp::run
