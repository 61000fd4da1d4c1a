// SPDX-License-Identifier: BSD-3-Clause
// The program whose ranks make collective calls without end, until one of them is killed or a node
// is lost. The calls of every other rank then fail; it frees the team and leaves.
#include <array>
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
    // A random call, the same on all members. False: it failed.
    bool make_call(Random& random, acp_team_t team) {
        const std::size_t bytes = random.chance(20) ? random.below(300'000) : random.below(2000);
        buffer_.resize(bytes / 8 + 1);
        const int root = static_cast<int>(random.below(member_ranks));
        switch (random.below(9)) {
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
            case 5:
                return begin_and_wait(team, bytes, root);
            case 6:
                gathered_.resize(member_ranks * ACP_NOTICE_BYTES / 8);
                return acp_sync_team_notices(team, buffer_.data(), bytes % ACP_NOTICE_BYTES,
                                             gathered_.data(), sizes_.data()) == 0;
            case 7: {
                const acp_ga_t memory = acp_malloc_team(team, bytes);
                return memory != ACP_GA_NULL && acp_free_team_memory(team, memory) == 0;
            }
            default:
                return acp_allreduce_team(team, buffer_.data(), buffer_.data(), bytes / 8,
                                          ACP_UINT64, ACP_SUM) == 0;
        }
    }

    // Several calls in flight at once. If one fails, so does each call after it.
    bool begin_and_wait(acp_team_t team, std::size_t bytes, int root) {
        gathered_.resize(buffer_.size());
        const acp_team_request_t first = acp_nbbroadcast_team(team, buffer_.data(), bytes, root);
        const acp_team_request_t second = acp_nballreduce_team(
            team, gathered_.data(), gathered_.data(), bytes / 8, ACP_UINT64, ACP_SUM);
        must(first != ACP_TEAM_REQUEST_NULL && second != ACP_TEAM_REQUEST_NULL, "begin");
        const bool is_first_well = acp_wait_team(first) == 0;
        const bool is_second_well = acp_wait_team(second) == 0;
        must(is_first_well || !is_second_well, "a call behind one that was refused");
        return is_second_well;
    }

    std::vector<std::uint64_t> buffer_;
    std::vector<std::uint64_t> gathered_;
    std::array<std::size_t, member_ranks> sizes_{};
};

}  // namespace
}  // namespace acp::test

int main(int argc, char** argv) {
    return acp::test::run_victim<acp::test::MemberBoard, acp::test::Worker>(argc, argv,
                                                                            "team_victim");
}
