// SPDX-License-Identifier: BSD-3-Clause
// The teams of a process by handle: made by division, used by one thread at a time, freed in any
// order, with their memory and with requests that no thread waits for. Blocking calls run in one
// thread for each rank.
#include "team/teams.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "support/rank_node.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::team {
namespace {

using base::Code;
using base::Status;

const Signature sync_signature(CollectiveCall::sync, 0);

class TeamsTest : public testing::Test {
protected:
    static constexpr std::uint32_t procs = 4;

    TeamsTest() {
        for (std::uint32_t rank = 0; rank < procs; ++rank) {
            teams_.push_back(make(rank));
            worlds_.push_back(teams_[rank]->world());
        }
    }

    std::unique_ptr<Teams> make(std::uint32_t rank, std::uint64_t handles_made = 0) {
        acp::test::NodeRank& own = ranks_[rank];
        return std::make_unique<Teams>(*own.gma, *own.hashed, *own.allocator,
                                       message::ChannelSettings{}, false, handles_made);
    }

    static void on_all(const std::function<void(std::uint32_t)>& body) {
        acp::test::in_threads(procs, body);
    }

    // Divides the team of all ranks. Returns the handle of each rank.
    std::vector<TeamHandle> divide(const std::vector<Teams::Division>& given) {
        std::vector<TeamHandle> made(procs, no_team);
        on_all([&](std::uint32_t rank) {
            auto result = teams_[rank]->divide(worlds_[rank], CollectiveCall::split, given[rank]);
            EXPECT_TRUE(result.is_ok()) << result.failure().message();
            if (result.is_ok()) made[rank] = result.value();
        });
        return made;
    }

    std::vector<TeamHandle> divide_all() {
        return divide(std::vector<Teams::Division>(procs, {0}));
    }

    void free_all(const std::vector<TeamHandle>& teams) {
        on_all([&](std::uint32_t rank) {
            const Status freed = teams_[rank]->free(teams[rank]);
            EXPECT_TRUE(freed.is_ok()) << freed.message();
        });
    }

    base::Result<RequestHandle> begin_sync(std::uint32_t rank, TeamHandle team) {
        return teams_[rank]->begin(team, sync_signature, synchronize);
    }

    // The processes of a team, in the order of its ranks.
    std::vector<std::uint32_t> processes(std::uint32_t rank, TeamHandle team) {
        std::vector<std::uint32_t> all;
        const Status asked = teams_[rank]->ask(team, [&](const Membership& members) {
            all.assign(members.processes().begin(), members.processes().end());
            EXPECT_EQ(members.process(members.own()), rank);
        });
        EXPECT_TRUE(asked.is_ok()) << asked.message();
        return all;
    }

    std::uint64_t used(std::uint32_t rank) {
        auto usage = ranks_[rank].allocator->usage(rank);
        EXPECT_TRUE(usage.is_ok());
        return usage.value().block_bytes;
    }

    acp::test::ScopedWatchdog watchdog_{"teams of four ranks"};
    acp::test::RankNode ranks_{procs};
    std::vector<std::unique_ptr<Teams>> teams_;
    std::vector<TeamHandle> worlds_;
};

TEST_F(TeamsTest, a_division_has_a_team_for_each_colour_in_the_order_of_keys) {
    struct Row {
        std::vector<Teams::Division> given;
        std::vector<std::vector<std::uint32_t>>
            members;  // the members of the team of each rank; {}: no team
    };

    const std::vector<Row> rows{
        {{{0, 0}, {0, 0}, {0, 0}, {0, 0}},
         {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}}},
        {{{0, 5}, {0, -5}, {0, 0}, {0, 0}},
         {{1, 2, 3, 0}, {1, 2, 3, 0}, {1, 2, 3, 0}, {1, 2, 3, 0}}},
        {{{7, 0}, {3, 0}, {7, -1}, {3, 9}}, {{2, 0}, {1, 3}, {2, 0}, {1, 3}}},
        {{{-1, 0}, {0, 0}, {-2, 0}, {0, -1}}, {{}, {3, 1}, {}, {3, 1}}},
        {{{1, 0}, {2, 0}, {3, 0}, {-1, 0}}, {{0}, {1}, {2}, {}}},
    };
    for (const Row& row : rows) {
        const std::vector<TeamHandle> made = divide(row.given);
        for (std::uint32_t rank = 0; rank < procs; ++rank) {
            EXPECT_EQ(made[rank] == no_team, row.members[rank].empty());
            if (made[rank] == no_team) continue;
            EXPECT_EQ(processes(rank, made[rank]), row.members[rank]);
        }
        on_all([&](std::uint32_t rank) {
            if (made[rank] == no_team) return;
            EXPECT_TRUE(teams_[rank]->run(made[rank], sync_signature, synchronize).is_ok());
            EXPECT_TRUE(teams_[rank]->free(made[rank]).is_ok());
        });
    }
}

TEST_F(TeamsTest, a_division_by_different_lists_makes_no_team_and_leaves_the_old_one_whole) {
    const std::uint64_t before = used(1);
    on_all([&](std::uint32_t rank) {
        const Teams::Division given{0, 0, rank == 2 ? 8U : 7U};
        auto made = teams_[rank]->divide(worlds_[rank], CollectiveCall::create, given);
        ASSERT_FALSE(made.is_ok());
        EXPECT_EQ(made.failure().code(), Code::mismatch) << made.failure().message();
    });
    EXPECT_EQ(used(1), before) << "a board stays";
    free_all(divide_all());
}

TEST_F(TeamsTest, no_team_is_stale_also_before_the_team_of_all_ranks_was_made) {
    const std::unique_ptr<Teams> fresh = make(0);
    EXPECT_EQ(fresh->free(no_team).code(), Code::stale);
    EXPECT_EQ(teams_[0]->free(no_team).code(), Code::stale);
    EXPECT_EQ(teams_[0]->free(worlds_[0]).code(), Code::argument);
}

TEST_F(TeamsTest, one_member_without_room_fails_the_division_on_all) {
    std::vector<memory::GlobalAddress> filling;
    for (;;) {
        auto block = ranks_[3].allocator->allocate(3, std::uint64_t{64} * 1024, 64);
        if (!block.is_ok()) break;
        filling.push_back(block.value());
    }
    const std::uint64_t before = used(0);
    on_all([&](std::uint32_t rank) {
        auto made = teams_[rank]->divide(worlds_[rank], CollectiveCall::split, {0});
        ASSERT_FALSE(made.is_ok());
        EXPECT_EQ(made.failure().code(), Code::memory) << made.failure().message();
        if (rank != 3) {
            EXPECT_NE(made.failure().message().find("member 3"), std::string_view::npos);
        }
    });
    EXPECT_EQ(used(0), before);
    for (const auto block : filling) EXPECT_TRUE(ranks_[3].allocator->free(block).is_ok());
    free_all(divide_all());
}

TEST_F(TeamsTest, teams_are_freed_in_any_order) {
    free_all(divide_all());  // what the first team allocates once
    const std::uint64_t before = used(0);
    for (const std::vector<std::size_t>& order :
         {std::vector<std::size_t>{0, 1, 2}, {2, 1, 0}, {1, 0, 2}}) {
        std::vector<std::vector<TeamHandle>> made;
        made.reserve(3);
        for (int i = 0; i < 3; ++i) made.push_back(divide_all());
        for (const std::size_t which : order) {
            free_all(made[which]);
            EXPECT_EQ(teams_[0]->run(made[which][0], sync_signature, synchronize).code(),
                      Code::stale);
            // The others are as they were, and a new one takes the place of the freed one.
            made[which] = divide_all();
            on_all([&](std::uint32_t rank) {
                for (const auto& team : made)
                    EXPECT_TRUE(teams_[rank]->run(team[rank], sync_signature, synchronize).is_ok());
            });
        }
        for (const auto& team : made) free_all(team);
    }
    EXPECT_EQ(used(0), before);
}

TEST_F(TeamsTest, a_child_outlives_its_parent) {
    const std::vector<TeamHandle> parent = divide_all();
    std::vector<TeamHandle> child(procs);
    on_all([&](std::uint32_t rank) {
        auto made = teams_[rank]->divide(parent[rank], CollectiveCall::split, {rank % 2});
        ASSERT_TRUE(made.is_ok());
        child[rank] = made.value();
    });
    free_all(parent);
    on_all([&](std::uint32_t rank) {
        EXPECT_TRUE(teams_[rank]->run(child[rank], sync_signature, synchronize).is_ok());
    });
    EXPECT_EQ(processes(3, child[3]), (std::vector<std::uint32_t>{1, 3}));
    free_all(child);
}

TEST_F(TeamsTest, handles_that_name_no_team_are_refused) {
    const std::vector<TeamHandle> freed = divide_all();
    free_all(freed);
    for (const TeamHandle bad : {freed[0], no_team, ~TeamHandle{0}}) {
        Teams& own = *teams_[0];
        EXPECT_EQ(own.run(bad, sync_signature, synchronize).code(), Code::stale);
        EXPECT_EQ(own.begin(bad, sync_signature, synchronize).failure().code(), Code::stale);
        EXPECT_EQ(own.free(bad).code(), Code::stale);
        EXPECT_EQ(own.free_memory(bad, 1).code(), Code::stale);
        EXPECT_EQ(own.translate(bad, 1, 0).failure().code(), Code::stale);
        EXPECT_EQ(own.allocate(bad, 1).failure().code(), Code::stale);
        EXPECT_EQ(own.ask(bad, [](const Membership&) {}).code(), Code::stale);
        EXPECT_EQ(own.wait(bad, 0).code(), Code::stale);
    }
    EXPECT_EQ(teams_[0]->free(worlds_[0]).code(), Code::argument);
    EXPECT_EQ(teams_[0]->world(), worlds_[0]);
    // The next epoch's handles continue the numbering.
    const auto next = make(0, teams_[0]->handles_made());
    EXPECT_EQ(next->run(worlds_[0], sync_signature, synchronize).code(), Code::stale);
}

TEST_F(TeamsTest, a_call_inside_of_a_call_and_arguments_that_are_refused_begin_nothing) {
    Teams& own = *teams_[0];
    const Status refused = own.run_checked(
        worlds_[0], sync_signature, [](const Membership&) { return Status::bare(Code::argument); },
        [](Team&) -> bool { throw std::bad_alloc(); });
    EXPECT_EQ(refused.code(), Code::argument);
    const std::vector<TeamHandle> alone = divide({{0}, {1}, {2}, {3}});
    Status inner;
    EXPECT_TRUE(own.run(alone[0], sync_signature,
                        [&](Team&) {
                            inner = own.run(alone[0], sync_signature, synchronize);
                            EXPECT_EQ(own.free(alone[0]).code(), Code::state);
                            return true;
                        })
                    .is_ok());
    EXPECT_EQ(inner.code(), Code::state) << inner.message();
    EXPECT_TRUE(own.run(alone[0], sync_signature, synchronize).is_ok());
    // What a call throws for lack of memory breaks the team.
    EXPECT_EQ(
        own.run(alone[0], sync_signature, [](Team&) -> bool { throw std::bad_alloc(); }).code(),
        Code::memory);
    EXPECT_EQ(own.run(alone[0], sync_signature, synchronize).code(), Code::memory);
    EXPECT_TRUE(own.free(alone[0]).is_ok()) << "a broken team is freed by its member alone";
}

TEST_F(TeamsTest, a_late_barrier_comes_before_every_other_call) {
    Teams& own = *teams_[0];
    const std::vector<TeamHandle> pair = divide({{0}, {0}, {-1}, {-1}});
    EXPECT_EQ(own.run(pair[0], sync_signature, synchronize, gma::Deadline(0)).code(),
              Code::timeout);
    EXPECT_EQ(own.allocate(pair[0], 8).failure().code(), Code::state);
    const Status begun = own.begin(pair[0], sync_signature, synchronize).failure();
    EXPECT_EQ(begun.code(), Code::state);
    EXPECT_NE(begun.message().find("until it returns ACP_OK, before acp_nbsync_team"),
              std::string_view::npos)
        << begun.message();
    EXPECT_EQ(own.free(pair[0]).code(), Code::state);
    const Status late = own.run(pair[0], sync_signature, synchronize, gma::Deadline(0));
    EXPECT_NE(late.message().find("waits for rank 1,"), std::string_view::npos) << late.message();
    EXPECT_TRUE(teams_[1]->run(pair[1], sync_signature, synchronize).is_ok());
    EXPECT_TRUE(own.run(pair[0], sync_signature, synchronize, gma::Deadline(0)).is_ok());
    on_all([&](std::uint32_t rank) {
        if (pair[rank] == no_team) return;
        EXPECT_TRUE(teams_[rank]->free(pair[rank]).is_ok());
    });
}

// --- Memory of a team ---

TEST_F(TeamsTest, an_address_in_the_own_part_is_converted_to_that_of_a_member) {
    const std::vector<TeamHandle> team = divide_all();
    std::vector<memory::GlobalAddress> parts(procs);
    on_all([&](std::uint32_t rank) {
        auto made = teams_[rank]->allocate(team[rank], 1000);
        ASSERT_TRUE(made.is_ok()) << made.failure().message();
        parts[rank] = made.value();
    });
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        for (std::uint32_t other = 0; other < procs; ++other) {
            auto found = teams_[rank]->translate(team[rank], parts[rank] + 999, other);
            ASSERT_TRUE(found.is_ok());
            EXPECT_EQ(found.value(), parts[other] + 999);
        }
        auto found = teams_[rank]->translate(team[rank], parts[rank] + 1000, 0);
        EXPECT_EQ(found.failure().code(), Code::argument);
    }
    EXPECT_EQ(teams_[0]->free_memory(team[0], parts[0] + 8).code(), Code::argument);
    EXPECT_EQ(ranks_[0].allocator->free(parts[0]).code(), Code::address)
        << "a part was freed as a block";
    on_all([&](std::uint32_t rank) {
        EXPECT_TRUE(teams_[rank]->free_memory(team[rank], parts[rank]).is_ok());
        EXPECT_EQ(teams_[rank]->free_memory(team[rank], parts[rank]).code(), Code::argument);
    });
    free_all(team);
}

TEST_F(TeamsTest, one_member_without_room_fails_the_allocation_on_all_and_keeps_the_team) {
    free_all(divide_all());  // what the first team allocates once
    const std::uint64_t without_team = used(0);
    const std::vector<TeamHandle> team = divide_all();
    // More than its heap has left, less than the heaps of the others have.
    const auto filling = ranks_[2].allocator->allocate(2, 5 << 20, 64);
    ASSERT_TRUE(filling.is_ok());
    const std::uint64_t before = used(0);
    on_all([&](std::uint32_t rank) {
        auto made = teams_[rank]->allocate(team[rank], 4 << 20);
        ASSERT_FALSE(made.is_ok());
        EXPECT_EQ(made.failure().code(), Code::memory);
        if (rank != 2) {
            EXPECT_NE(made.failure().message().find("member 2"), std::string_view::npos)
                << made.failure().message();
        }
    });
    EXPECT_EQ(used(0), before);
    on_all(
        [&](std::uint32_t rank) { EXPECT_TRUE(teams_[rank]->allocate(team[rank], 100).is_ok()); });
    free_all(team);
    EXPECT_EQ(used(0), without_team) << "parts stay when their team is freed";
}

// --- Requests that no thread waits for ---

TEST_F(TeamsTest, requests_are_waited_for_in_any_order_and_once) {
    std::vector<std::vector<RequestHandle>> requests(procs);
    for (int i = 0; i < 3; ++i) {
        for (std::uint32_t rank = 0; rank < procs; ++rank) {
            auto begun = begin_sync(rank, worlds_[rank]);
            ASSERT_TRUE(begun.is_ok()) << begun.failure().message();
            requests[rank].push_back(begun.value());
        }
    }
    on_all([&](std::uint32_t rank) {
        for (const int which : {2, 0, 1}) {
            const RequestHandle request = requests[rank][static_cast<std::size_t>(which)];
            EXPECT_TRUE(teams_[rank]->wait(request, -1).is_ok());
            EXPECT_EQ(teams_[rank]->wait(request, -1).code(), Code::stale);
        }
    });
}

TEST_F(TeamsTest, a_request_stays_in_flight_until_the_last_member_has_begun) {
    std::vector<RequestHandle> requests;
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        for (std::uint32_t earlier = 0; earlier < rank; ++earlier)
            EXPECT_EQ(teams_[earlier]->wait(requests[earlier], 0).code(), Code::timeout);
        requests.push_back(begin_sync(rank, worlds_[rank]).value());
    }
    for (std::uint32_t rank = 0; rank < procs; ++rank)
        EXPECT_TRUE(teams_[rank]->wait(requests[rank], 0).is_ok()) << rank;
}

TEST_F(TeamsTest, a_wait_makes_progress_on_the_calls_of_all_teams) {
    const std::vector<TeamHandle> other = divide_all();
    std::vector<RequestHandle> first;
    std::vector<RequestHandle> second;
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        first.push_back(begin_sync(rank, worlds_[rank]).value());
        second.push_back(begin_sync(rank, other[rank]).value());
    }
    // Rank 0 polls one request alone; those of the other ranks depend on both of its calls.
    EXPECT_EQ(teams_[0]->wait(second[0], 0).code(), Code::ok);
    for (std::uint32_t rank = 1; rank < procs; ++rank) {
        EXPECT_TRUE(teams_[rank]->wait(first[rank], 0).is_ok());
        EXPECT_TRUE(teams_[rank]->wait(second[rank], 0).is_ok());
    }
    EXPECT_TRUE(teams_[0]->wait(first[0], 0).is_ok());
    free_all(other);
}

TEST_F(TeamsTest, a_call_that_blocks_ends_the_calls_before_it_unless_it_has_a_deadline) {
    std::vector<RequestHandle> requests;
    for (std::uint32_t rank = 0; rank + 1 < procs; ++rank)
        requests.push_back(begin_sync(rank, worlds_[rank]).value());
    EXPECT_EQ(teams_[0]->run(worlds_[0], sync_signature, synchronize, gma::Deadline(0)).code(),
              Code::state);
    requests.push_back(begin_sync(procs - 1, worlds_[procs - 1]).value());
    on_all([&](std::uint32_t rank) {
        EXPECT_TRUE(teams_[rank]->run(worlds_[rank], sync_signature, synchronize).is_ok());
        EXPECT_TRUE(teams_[rank]->wait(requests[rank], 0).is_ok());
    });
}

TEST_F(TeamsTest, freeing_a_team_ends_its_calls_first) {
    const std::vector<TeamHandle> team = divide_all();
    std::vector<RequestHandle> requests;
    std::atomic<int> runs{0};
    for (std::uint32_t rank = 0; rank < procs; ++rank) {
        requests.push_back(teams_[rank]
                               ->begin(team[rank], sync_signature,
                                       [&](Team& own) {
                                           ++runs;
                                           return synchronize(own);
                                       })
                               .value());
    }
    free_all(team);
    EXPECT_EQ(runs, 4);
    for (std::uint32_t rank = 0; rank < procs; ++rank)
        EXPECT_TRUE(teams_[rank]->wait(requests[rank], 0).is_ok()) << "the result is kept";
}

TEST_F(TeamsTest, calls_in_flight_fail_with_the_epoch_and_with_a_member) {
    const RequestHandle first = begin_sync(0, worlds_[0]).value();
    const RequestHandle behind = begin_sync(0, worlds_[0]).value();
    const RequestHandle others = begin_sync(1, worlds_[1]).value();
    teams_[0]->end_requests();
    for (const RequestHandle request : {first, behind})
        EXPECT_EQ(teams_[0]->wait(request, 0).code(), Code::state);
    EXPECT_EQ(teams_[1]->wait(others, 0).code(), Code::timeout) << "another member was told";
    ranks_.die(3);
    EXPECT_EQ(teams_[1]->wait(others, 0).code(), Code::peer);
    EXPECT_EQ(begin_sync(2, worlds_[2]).is_ok(), true);
    EXPECT_EQ(teams_[2]->run(worlds_[2], sync_signature, synchronize).code(), Code::peer);
}

}  // namespace
}  // namespace acp::team
