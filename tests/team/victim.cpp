// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks make collective calls without end, until one of them is killed or a node cannot be reached. Each other one then
// finds its calls refused, frees the team, and leaves.
#include <vector>

#include <acp.h>

#include "support/member_victim.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

class Worker : MemberVictim {
public:
    explicit Worker(MemberBoard& board) : MemberVictim(board) {}

    int run() {
        begin();
        const acp_team_t world = acp_world_team();
        const acp_team_t team = acp_split_team(world, 0, -acp_rank());
        must(team != ACP_TEAM_NULL, "acp_split_team");
        Random random(1);
        repeat_until_refused([&] { return make_call(random, team); });
        must(acp_sync_team(team) != 0, "a later call goes well");
        must_be_refused();
        must(acp_query_team_size(team) == member_ranks, "acp_query_team_size of a broken team");
        must(acp_free_team(team) == 0, "acp_free_team");
        must(acp_sync_team(team) != 0 && acp_errno() == ACP_ERR_STALE, "a call on a freed team");
        must(acp_sync_team(world) != 0, "acp_sync_team of all");
        must_be_refused();
        acp_finalize();
        return exit_status();
    }

private:
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

    std::vector<std::uint64_t> buffer_;
    std::vector<std::uint64_t> gathered_;
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::MemberBoard, acp::test::Worker>(argc, argv,
                                                                            "team_victim");
}
