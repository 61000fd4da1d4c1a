// SPDX-License-Identifier: BSD-3-Clause
// The teams of a process that have non-blocking calls under way, with which every thread that waits goes on (gma/under_way.hpp). One for each
// epoch. Any thread.
// Tests: tests/conformance/team_request_test.cpp.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "gma/gma.hpp"
#include "gma/under_way.hpp"
#include "node/awaited.hpp"
#include "team/team_entry.hpp"

namespace acp::team {

class AllCalls final : public gma::WorkUnderWay {
public:
    //   gma  outlives this
    explicit AllCalls(gma::Gma& gma) noexcept : gma::WorkUnderWay(gma.under_way()), gma_(gma) {}

    // A team that has calls now. Throws std::bad_alloc.
    void add(TeamEntry& entry);

    // A team that has none any more.
    void remove(TeamEntry& entry) noexcept;

    void go_on(bool is_thorough) noexcept override;

    // Goes on with the calls on one team, whose lock the caller holds.
    void go_on_with(TeamEntry& entry, bool is_thorough) noexcept;

    // Has the threads of this process that sleep look again. For one that has left a call on a team whose non-blocking calls go on: they
    // may have passed that team over before they slept.
    void wake_waiters() noexcept;

    // Tells people what the calls wait for.
    void announce(node::AwaitedEntry& told, std::uint64_t since_ns);

    // Ends all calls. No thread is in a call, and none begins another one.
    void end_epoch() noexcept;

private:
    // How far a thread has come with looking at all.
    struct Pass {
        std::size_t place = 0;
        std::uint64_t removals = 0;  // when it began: places have changed since where this differs
    };

    [[nodiscard]] TeamEntry* lock_next(Pass& pass, bool is_thorough) noexcept;

    gma::Gma& gma_;
    std::mutex mutex_;  // whoever holds it waits for no CallLock
    std::vector<TeamEntry*> entries_;
    std::uint64_t removals_ = 0;
};

}  // namespace acp::team
