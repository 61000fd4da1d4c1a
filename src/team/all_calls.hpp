// SPDX-License-Identifier: BSD-3-Clause
// The teams of a process that have non-blocking calls in flight. Every waiting thread makes
// progress on them (gma/under_way.hpp). One object per epoch. Any thread.
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

    // Lists a team, which has calls now. Throws std::bad_alloc.
    void add(TeamEntry& entry);

    // Removes a team, whose calls have all ended.
    void remove(TeamEntry& entry) noexcept;

    void go_on(bool is_thorough) noexcept override;

    // Makes progress on the calls of one team, whose lock the caller holds.
    void go_on_with(TeamEntry& entry, bool is_thorough) noexcept;

    // Makes sleeping threads of this process poll again. A thread that ends a blocking call on a
    // team with non-blocking calls in flight must call it: the sleepers may have skipped that team.
    void wake_waiters() noexcept;

    // Reports to the node's diagnostics what the calls wait for.
    void announce(node::AwaitedEntry& told, std::uint64_t since_ns);

    // Ends all calls. No thread is in a call or begins one.
    void end_epoch() noexcept;

private:
    // A thread's position while it visits all teams.
    struct Pass {
        std::size_t place = 0;
        // removals_ when the pass began; if they differ, places have changed
        std::uint64_t removals = 0;
    };

    [[nodiscard]] TeamEntry* lock_next(Pass& pass, bool is_thorough) noexcept;

    gma::Gma& gma_;
    std::mutex mutex_;  // a thread that holds it waits for no CallLock
    std::vector<TeamEntry*> entries_;
    std::uint64_t removals_ = 0;
};

}  // namespace acp::team
