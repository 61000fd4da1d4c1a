// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks make collective calls without end, until one of them is killed or a node cannot be reached. Each other one then
// finds its calls refused, frees the team, and leaves.
#include <cstdio>
#include <cstring>
#include <sched.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <acp.h>

#include "support/board.hpp"
#include "support/clock.hpp"
#include "support/member_board.hpp"
#include "support/random.hpp"
#include "support/watchdog.hpp"

namespace acp::test {
namespace {

class Worker {
public:
    explicit Worker(MemberBoard& board)
        : board_(board),
          note_(board.ranks[acp_rank()]),
          victim_(board.victim.load(std::memory_order_relaxed)) {}

    int run() {
        note_.process.store(getpid(), std::memory_order_relaxed);
        const acp_team_t world = acp_world_team();
        const acp_team_t team = acp_split_team(world, 0, -acp_rank());
        must(team != ACP_TEAM_NULL, "acp_split_team");
        Random random(1);
        for (std::uint64_t call = 0; make_call(random, team); ++call) {
            if (call == 20) note_.is_at_work.store(1, std::memory_order_release);
        }
        note_.refused_at_ns.store(now_ns(), std::memory_order_relaxed);
        must_be_refused();
        await_others();
        must(acp_sync_team(team) != 0, "a later call goes well");
        must_be_refused();
        must(acp_query_team_size(team) == member_ranks, "acp_query_team_size of a broken team");
        must(acp_free_team(team) == 0, "acp_free_team");
        must(acp_sync_team(team) != 0 && acp_errno() == ACP_ERR_STALE, "a call on a freed team");
        must(acp_sync_team(world) != 0, "acp_sync_team of all");
        must_be_refused();
        acp_finalize();
        return note_.message[0] == '\0' ? 0 : 5;
    }

private:
    void must(bool is_so, const std::string& what) {
        if (is_so || note_.message[0] != '\0') return;
        std::snprintf(note_.message, sizeof note_.message, "%s: %s", what.c_str(),
                      acp_error_message());
    }

    void must_be_refused() {
        must(acp_errno() == ACP_ERR_PEER, "the code is " + std::to_string(acp_errno()));
        const std::string named =
            victim_ == nobody_killed ? " on node " : "rank " + std::to_string(victim_);
        must(std::string(acp_error_message()).find(named) != std::string::npos,
             "the message does not say " + named);
    }

    // Who leaves before the others are refused is what some of them are told of, instead of the victim.
    void await_others() const {
        for (int rank = 0; rank < member_ranks; ++rank) {
            const MemberNote& other = board_.ranks[rank];
            while (rank != victim_ && other.refused_at_ns.load(std::memory_order_relaxed) == 0) {
                sched_yield();
            }
        }
    }

    // The same on all members. false: refused.
    bool make_call(Random& random, acp_team_t team) {
        const std::size_t bytes = random.chance(20) ? random.below(300'000) : random.below(2000);
        buffer_.resize(bytes / 8 + 1);
        const int root = static_cast<int>(random.below(member_ranks));
        switch (random.below(6)) {
            case 0:
                return acp_sync_team(team) == 0;
            case 1:
                return acp_broadcast_team(team, buffer_.data(), bytes, root) == 0;
            case 2:
                return acp_reduce_team(team, buffer_.data(), buffer_.data(), bytes / 8, ACP_UINT64,
                                       ACP_SUM, root) == 0;
            case 3:
                gathered_.resize(buffer_.size() * member_ranks);
                return acp_allgather_team(team, buffer_.data(), bytes, gathered_.data()) == 0;
            case 4:
                gathered_.resize(buffer_.size());
                return acp_alltoall_team(team, buffer_.data(), bytes / member_ranks,
                                         gathered_.data()) == 0;
            default:
                return acp_allreduce_team(team, buffer_.data(), buffer_.data(), bytes / 8,
                                          ACP_UINT64, ACP_SUM) == 0;
        }
    }

    MemberBoard& board_;
    MemberNote& note_;
    int victim_;
    std::vector<std::uint64_t> buffer_;
    std::vector<std::uint64_t> gathered_;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    acp::test::arm_watchdog(120, "a rank of team_victim");
    const auto board = acp::test::Board<acp::test::MemberBoard>::open();
    if (acp_init(&argc, &argv) != 0) {
        std::fprintf(stderr, "%s\n", acp_error_message());
        return 3;
    }
    return acp::test::Worker(*board).run();
}
