// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: a thread that waits in a collective call on a team, or for a plan, looks now and then whether the member that it waits for has called something
// in which all ranks meet instead (team/meeting_mark.hpp), so that both would wait for ever. It is sure of it where that member has been in one
// and the same such call for a while, during all of which it was waited for: what it had published or sent before has come by then.
// For the one thread that is in a call on the team or the plan. Tests: tests/conformance/team_check_test.cpp.
#pragma once

#include <cstdint>

#include "gma/condition.hpp"
#include "gma/gma.hpp"
#include "node/awaited.hpp"
#include "node/wait.hpp"
#include "os/clock.hpp"
#include "team/board.hpp"

namespace acp::team {

class MeetingWatch {
public:
    //   gma  outlives this
    explicit MeetingWatch(gma::Gma& gma) noexcept : gma_(gma) {}

    // As Gma::wait_until() without a limit, but ends also when the process that is waited for is in a call in which all ranks meet. Returns that
    // call; none: the condition has come.
    //   process()  that is waited for, or nobody
    template <typename Process>
    node::AwaitedCall wait(gma::Condition& condition, const Process& process) {
        for (;;) {
            if (gma_.wait_until(condition, look_ns) != node::Outcome::timeout) return {};
            const std::uint32_t awaited = process();
            if (awaited == nobody) continue;
            const node::AwaitedCall call = look(awaited, os::now_ns());
            if (call == node::AwaitedCall::none) continue;
            // What has come since the last look counts.
            return condition.look() == gma::LookResult::all ? node::AwaitedCall::none : call;
        }
    }

private:
    // How often a thread looks.
    static constexpr std::int64_t look_ns = 250'000'000;
    // Longer than a member that has found the team broken takes to tell others (Team::await_reason).
    static constexpr std::uint64_t patience_ns = 2'000'000'000;

    // The call that a process is in, or none. One that is gone is in none.
    node::AwaitedCall look(std::uint32_t process, std::uint64_t now_ns);

    gma::Gma& gma_;
    std::uint32_t process_ = 0;   // that was looked at last
    std::uint64_t word_ = 0;      // what it showed
    std::uint64_t since_ns_ = 0;  // since when
};

}  // namespace acp::team
