// SPDX-License-Identifier: BSD-3-Clause
// ACP_CHECK: a thread that waits for a member, in a collective call on a team or for a plan, checks
// from time to time whether that member is in a call of all ranks instead (team/meeting_mark.hpp),
// so that both would wait for ever. It is certain once the member has been in the same such call
// for patience_ns while the thread waited for it, and while its process had no other thread that
// could join the call: publications and messages that the member sent before have arrived by then,
// and the member has left a call that such a thread completed.
// For the one thread that is in a call on the team or the plan.
// Tests: tests/unit/team/meeting_watch_test.cpp, tests/conformance/team_check_test.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "gma/condition.hpp"
#include "gma/gma.hpp"
#include "node/wait.hpp"
#include "os/clock.hpp"
#include "team/board.hpp"

namespace acp::team {

class MeetingWatch {
public:
    //   gma  outlives this
    explicit MeetingWatch(gma::Gma& gma) noexcept : gma_(gma) {}

    // Gma::wait_until() without a limit, which also ends when the awaited process is in a call of
    // all ranks. Returns that call's name; empty: the condition is true.
    //   process()  the awaited process, or the constant nobody
    template <typename Process>
    std::string wait(gma::Condition& condition, const Process& process) {
        gma::ShownWait shown(gma_.space());
        for (;;) {
            if (gma_.wait_until(condition, look_ns, false, &shown) != node::Outcome::timeout)
                return {};
            const std::uint32_t awaited = process();
            if (awaited == nobody) continue;
            std::string call = look(awaited, os::now_ns());
            if (call.empty()) continue;
            // The condition may have come true since the last poll.
            if (condition.look() == gma::LookResult::all) call.clear();
            return call;
        }
    }

private:
    // How often a waiting thread checks.
    static constexpr std::int64_t look_ns = 250'000'000;
    // Longer than a member that has found the team broken takes to notify the rest
    // (Team::await_reason).
    static constexpr std::uint64_t patience_ns = 2'000'000'000;

    // The name of the call that a process has been in for patience_ns; empty: no such call, or the
    // process is gone.
    std::string look(std::uint32_t process, std::uint64_t now_ns);

    gma::Gma& gma_;
    std::uint32_t process_ = 0;   // the process that was checked last
    std::uint64_t word_ = 0;      // its word
    std::uint64_t since_ns_ = 0;  // since when it waits in vain, in the call of this word
};

}  // namespace acp::team
