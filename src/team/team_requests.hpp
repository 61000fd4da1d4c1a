// SPDX-License-Identifier: BSD-3-Clause
// The requests of the non-blocking calls of a process, by handle: begins calls, and waits for them.
// Knows no handles of teams. One object per epoch. Any thread.
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
    //   gma, calls     must outlive this
    //   handles_made   handles_made() of the epoch before this one
    TeamRequests(gma::Gma& gma, AllCalls& calls, std::uint64_t handles_made) noexcept
        : gma_(gma), calls_(calls), requests_(handles_made) {}

    // Begins a call on a team, which the caller has locked for a moment. Errors: limit, memory,
    // system.
    //   make_call  runs the call and returns its result
    base::Result<RequestHandle> begin(TeamEntry& entry,
                                      std::function<base::Status(Team&)> make_call);

    // Waits for the end of a call, retires its request, and returns the call's result. Errors:
    // stale (no such request), timeout (the call is still in flight).
    //   timeout_ns  0: only polls; < 0: for ever
    base::Status wait(RequestHandle handle, std::int64_t timeout_ns);

    // Waits until all non-blocking calls on a team have ended. The caller has locked the team for a
    // call. With a deadline it only polls. Errors: state (a call is in flight).
    base::Status end_calls(TeamEntry& entry, gma::Deadline deadline);

    [[nodiscard]] std::uint64_t handles_made() { return requests_.handles_made(); }

private:
    gma::Gma& gma_;
    AllCalls& calls_;
    message::Slots<TeamRequest> requests_;
    std::mutex mutex_;  // guards the retirement of requests
};

}  // namespace acp::team
