// SPDX-License-Identifier: BSD-3-Clause
// A member of a team or a plan of which one member is killed: checks the error that every other
// member gets. Main thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <sched.h>
#include <string>
#include <unistd.h>

#include "support/clock.hpp"
#include "support/member_board.hpp"
#include "support/victim_rank.hpp"

namespace acp::test {

class MemberVictim : public VictimRank<MemberNote> {
protected:
    explicit MemberVictim(MemberBoard& board)
        : VictimRank(board.ranks[acp_rank()]),
          board_(board),
          victim_(board.victim.load(std::memory_order_relaxed)) {}

    void begin() { note_.process.store(getpid(), std::memory_order_relaxed); }

    // Calls call() until it returns false, which means that it failed. Then waits until the calls
    // of all other members have failed too, because they might get an error that names this member
    // if it left before.
    template <typename Call>
    void repeat_until_refused(const Call& call) {
        for (std::uint64_t count = 0; call(); ++count) {
            if (count == calls_before_strike) note_.is_at_work.store(1, std::memory_order_release);
        }
        note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must_be_refused();
        for (int rank = 0; rank < member_ranks; ++rank) {
            const MemberNote& other = board_.ranks[rank];
            while (rank != victim_ && other.refused_at_ns.load(std::memory_order_relaxed) == 0)
                sched_yield();
        }
    }

    // Checks the error of the last call.
    void must_be_refused() {
        must(acp_errno() == ACP_ERR_PEER, "the code is " + std::to_string(acp_errno()));
        const std::string named =
            victim_ == nobody_killed ? " on node " : "rank " + std::to_string(victim_);
        must(std::string(acp_error_message()).find(named) != std::string::npos,
             "the message does not say " + named);
    }

private:
    static constexpr std::uint64_t calls_before_strike = 20;

    MemberBoard& board_;
    int victim_;
};

}  // namespace acp::test
