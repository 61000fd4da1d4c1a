// SPDX-License-Identifier: BSD-3-Clause
// The requests of the non-blocking calls of a process, by handle: beginning calls, and waiting for their ends. Knows no handles of teams. One
// for each epoch. Any thread.
// Tests: tests/conformance/team_request_test.cpp, tests/conformance/team_request_life_test.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>

#include "base/status.hpp"
#include "gma/deadline.hpp"
#include "gma/gma.hpp"
#include "message/slots.hpp"
#include "team/all_calls.hpp"
#include "team/team_entry.hpp"

namespace acp::team {

using RequestHandle = message::SlotHandle;

class TeamRequests {
public:
    //   both outlive this
    //   handles_made  handles_made() of the epoch before this one
    TeamRequests(gma::Gma& gma, AllCalls& calls, std::uint64_t handles_made) noexcept
        : gma_(gma), calls_(calls), requests_(handles_made) {}

    // Begins a call on a team, whose lock the caller holds for a moment.
    //   make_call  returns how it has ended
    // Errors: limit, memory, system.
    base::Result<RequestHandle> begin(TeamEntry& entry,
                                      std::function<base::Status(Team&)> make_call);

    // Waits for the end of a call, whose request is gone then. Returns how the call has ended.
    //   timeout_ns  0: only look; < 0: for ever
    // Errors: stale (no such request), timeout (it goes on).
    base::Status wait(RequestHandle handle, std::int64_t timeout_ns);

    // Waits until no call is under way on a team, whose lock the caller holds for a call. With a deadline it only looks.
    // Errors: state (a call is under way).
    base::Status end_calls(TeamEntry& entry, gma::Deadline deadline);

    [[nodiscard]] std::uint64_t handles_made() { return requests_.handles_made(); }

private:
    gma::Gma& gma_;
    AllCalls& calls_;
    message::Slots<TeamRequest> requests_;
    std::mutex mutex_;  // of requests whose end is taken
};

}  // namespace acp::team
