// SPDX-License-Identifier: BSD-3-Clause
// Memory that the members of a team allocate together, and its barrier.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/team_fixture.hpp"
#include "support/refuse_memory.hpp"

namespace acp::test {
namespace {

class TeamMemoryTest : public TeamTest {
protected:
    // A team whose members on different nodes are connected, so that it has all the channels that
    // it needs.
    acp_team_t used_team() {
        const acp_team_t team = acp_split_team(world_, 0, 0);
        EXPECT_NE(team, ACP_TEAM_NULL);
        EXPECT_EQ(acp_free_team_memory(team, acp_malloc_team(team, 8)), 0) << acp_error_message();
        sync_ranks();
        return team;
    }
};

TEST_F(TeamMemoryTest, an_offset_means_the_same_in_the_parts_of_all_members) {
    const acp_team_t backwards = acp_split_team(world_, 0, -rank_);
    ASSERT_NE(backwards, ACP_TEAM_NULL);
    // The heaps are used differently on each rank.
    const acp_ga_t uneven = acp_malloc(1000 + 5000 * static_cast<std::size_t>(rank_), rank_);
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{300'000}}) {
        const acp_ga_t own = acp_malloc_team(backwards, size);
        ASSERT_NE(own, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(own % 64, 0U);
        EXPECT_EQ(acp_query_rank(own), rank_);
        const int own_member = acp_query_team_rank(backwards);
        EXPECT_EQ(acp_query_team_ga(backwards, own, own_member), own);
        EXPECT_EQ(acp_query_team_ga(backwards, own + size - 1, own_member), own + size - 1);
        std::memset(acp_query_address(own), 0, size);
        ASSERT_EQ(acp_sync_team(backwards), 0);
        // Each member writes the last byte of the next member's part.
        const int next = (own_member + 1) % procs_;
        const acp_ga_t there = acp_query_team_ga(backwards, own + size - 1, next);
        ASSERT_NE(there, ACP_GA_NULL) << acp_error_message();
        EXPECT_EQ(acp_query_rank(there), acp_translate_team_rank(backwards, next, world_));
        const char mark = static_cast<char>(1 + own_member);
        ASSERT_EQ(acp_wait(acp_put(there, &mark, 1, ACP_HANDLE_NULL), -1), 0)
            << acp_error_message();
        ASSERT_EQ(acp_sync_team(backwards), 0);
        EXPECT_EQ(static_cast<const char*>(acp_query_address(own))[size - 1],
                  static_cast<char>(1 + (own_member + procs_ - 1) % procs_));
        EXPECT_EQ(acp_free_team_memory(backwards, own), 0) << acp_error_message();
        EXPECT_EQ(acp_query_team_ga(backwards, own, 0), ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT);
    }
    EXPECT_EQ(acp_free(uneven), 0);
    free_team(backwards);
}

TEST_F(TeamMemoryTest, is_not_freed_block_by_block) {
    const acp_team_t team = used_team();
    const acp_ga_t own = acp_malloc_team(team, 1000);
    ASSERT_NE(own, ACP_GA_NULL) << acp_error_message();
    for (int member = 0; member < procs_; ++member) {
        const acp_ga_t part = acp_query_team_ga(team, own, member);
        EXPECT_EQ(acp_free(part), -1);
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS) << acp_error_message();
        EXPECT_NE(std::string(acp_error_message()).find("memory of a team"), std::string::npos)
            << acp_error_message();
        EXPECT_EQ(acp_realloc(part, 100'000), ACP_GA_NULL);
        EXPECT_EQ(acp_errno(), ACP_ERR_ADDRESS) << acp_error_message();
    }
    EXPECT_EQ(acp_free_team_memory(team, own), 0) << acp_error_message();
    // acp_free accepts a block that reuses the team's memory.
    const acp_ga_t block = acp_malloc(1000, rank_);
    EXPECT_EQ(acp_free(block), 0) << acp_error_message();
    free_team(team);
}

TEST_F(TeamMemoryTest, every_byte_is_given_back) {
    const auto bytes = [this] {
        acp_heap_stat_t stat{};
        EXPECT_EQ(acp_heap_stat(rank_, &stat), 0) << acp_error_message();
        return stat.allocated;
    };
    const acp_team_t team = used_team();
    const std::size_t before = bytes();
    const acp_ga_t first = acp_malloc_team(team, 100'000);
    const acp_ga_t second = acp_malloc_team(team, 0);
    ASSERT_NE(first, ACP_GA_NULL) << acp_error_message();
    ASSERT_NE(second, ACP_GA_NULL) << acp_error_message();
    EXPECT_GE(bytes(), before + 100'000);
    EXPECT_EQ(acp_free_team_memory(team, first), 0);
    EXPECT_EQ(acp_free_team_memory(team, second), 0);
    sync_ranks();
    EXPECT_LE(bytes(), before);
    // acp_free_team frees the memory that is left.
    EXPECT_NE(acp_malloc_team(team, 2'000'000), ACP_GA_NULL);
    free_team(team);
    sync_ranks();
    EXPECT_LT(bytes(), before + 64 * 1024);
}

TEST_F(TeamMemoryTest, what_one_member_is_refused_all_are_refused) {
    const acp_team_t team = used_team();
    const auto last = static_cast<std::size_t>(procs_ - 1);
    // The heap of one member has no room.
    acp_heap_stat_t stat{};
    ASSERT_EQ(acp_heap_stat(rank_, &stat), 0);
    acp_ga_t filling = ACP_GA_NULL;
    if (rank_ == procs_ - 1) filling = acp_malloc(stat.limit - stat.in_use - 2'000'000, rank_);
    sync_ranks();
    EXPECT_EQ(acp_malloc_team(team, 8'000'000), ACP_GA_NULL);
    EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
    if (rank_ != procs_ - 1) {
        EXPECT_NE(std::string(acp_error_message()).find("member " + std::to_string(last)),
                  std::string::npos)
            << acp_error_message();
    }
    sync_ranks();
    acp_heap_stat_t after{};
    ASSERT_EQ(acp_heap_stat(rank_, &after), 0);
    if (rank_ != procs_ - 1) {
        EXPECT_LE(after.allocated, stat.allocated);
    }
    if (filling != ACP_GA_NULL) {
        EXPECT_EQ(acp_free(filling), 0);
    }
    const acp_ga_t own = acp_malloc_team(team, 8'000'000);
    EXPECT_NE(own, ACP_GA_NULL) << "the team is whole: " << acp_error_message();
    EXPECT_EQ(acp_free_team_memory(team, own), 0);
    free_team(team);
}

TEST_F(TeamMemoryTest, all_members_fail_when_one_has_no_memory_for_its_records) {
    bool is_over = false;
    for (std::uint64_t first = 1; !is_over; ++first) {
        ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
        world_ = acp_world_team();
        ASSERT_EQ(acp_sync_team(world_), 0);
        // So that no member is still in acp_sync_team when the next call breaks the team.
        sync_ranks();
        bool is_well = false;
        bool is_seen = false;
        {
            const bool is_refused = rank_ == procs_ - 1;
            const Refusal refusal(is_refused ? first : 0, 1);
            is_well = acp_malloc_team(world_, 100) != ACP_GA_NULL;
            if (!is_well) {
                EXPECT_EQ(acp_errno(), ACP_ERR_MEMORY) << acp_error_message();
            }
            is_seen = is_refused && Refusal::seen() >= first;
        }
        sync_ranks();
        is_over = exchange(is_seen ? 1 : 0)[static_cast<std::size_t>(procs_ - 1)] == 0;
        if (is_over) {
            EXPECT_TRUE(is_well);
        }
    }
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
}

TEST_F(TeamMemoryTest, misuse_is_refused) {
    const acp_team_t team = acp_split_team(world_, 0, 0);
    const acp_ga_t own = acp_malloc_team(team, 100);
    const acp_ga_t other = acp_malloc_team(team, 100);
    ASSERT_NE(own, ACP_GA_NULL);
    ASSERT_NE(other, ACP_GA_NULL);
    const auto expect_null = [](acp_ga_t ga, int code, const std::string& part) {
        EXPECT_EQ(ga, ACP_GA_NULL);
        expect_refused(-1, code, part);
    };
    expect_null(acp_malloc_team(ACP_TEAM_NULL, 8), ACP_ERR_STALE, "acp_malloc_team");
    expect_null(acp_malloc_team(team, std::size_t{1} << 61), ACP_ERR_ARGUMENT,
                "size 2305843009213693952 is not below 2^61 bytes");
    expect_null(acp_malloc_team(team, std::size_t{1} << 60), ACP_ERR_MEMORY, "acp_malloc_team");
    expect_null(acp_query_team_ga(ACP_TEAM_NULL, own, 0), ACP_ERR_STALE, "acp_query_team_ga");
    expect_null(acp_query_team_ga(team, own, procs_), ACP_ERR_ARGUMENT, "rank");
    expect_null(acp_query_team_ga(team, own, -1), ACP_ERR_ARGUMENT, "rank");
    expect_null(acp_query_team_ga(team, own + 100, 0), ACP_ERR_ARGUMENT, "acp_malloc_team");
    expect_null(acp_query_team_ga(team, ACP_GA_NULL, 0), ACP_ERR_ARGUMENT, "acp_malloc_team");
    expect_null(acp_query_team_ga(world_, own, 0), ACP_ERR_ARGUMENT, "acp_malloc_team");
    expect_refused(acp_free_team_memory(ACP_TEAM_NULL, own), ACP_ERR_STALE, "no such team");
    expect_refused(acp_free_team_memory(team, own + 1), ACP_ERR_ARGUMENT, "acp_malloc_team");
    expect_refused(acp_free_team_memory(world_, own), ACP_ERR_ARGUMENT, "acp_malloc_team");
    sync_ranks();
    if (procs_ > 1) {
        // The members free different memory: all of them fail.
        expect_refused(acp_free_team_memory(team, rank_ == 0 ? own : other), ACP_ERR_MISMATCH,
                       " allocation by acp_malloc_team");
    }
    sync_ranks();
    free_team(team);
}

std::string notice_of(std::uint64_t which, int member) {
    Random random(which * 1000 + static_cast<std::uint64_t>(member));
    const bool is_short = which % 3 == 0;
    std::string notice(random.below(is_short ? 33 : ACP_NOTICE_BYTES + 1), ' ');
    for (char& byte : notice) byte = static_cast<char>(random.next());
    return notice;
}

TEST_F(TeamMemoryTest, a_barrier_carries_the_notices_of_all) {
    const acp_team_t team = acp_split_team(world_, 0, -rank_);
    const int own = acp_query_team_rank(team);
    const auto members = static_cast<std::size_t>(procs_);
    for (std::uint64_t which = 0; which < 60; ++which) {
        std::string notice = notice_of(which, own);
        if (which == 1) notice.assign(ACP_NOTICE_BYTES, 'x');
        if (which == 2) notice.clear();
        std::vector<char> notices(members * ACP_NOTICE_BYTES, '?');
        std::vector<std::size_t> sizes(members, 7777);
        ASSERT_EQ(acp_sync_team_notices(team, notice.empty() ? nullptr : notice.data(),
                                        notice.size(), notices.data(), sizes.data()),
                  0)
            << acp_error_message();
        for (int member = 0; member < procs_; ++member) {
            const auto at = static_cast<std::size_t>(member);
            std::string expected = notice_of(which, member);
            if (which == 1) expected.assign(ACP_NOTICE_BYTES, 'x');
            if (which == 2) expected.clear();
            ASSERT_EQ(sizes[at], expected.size()) << "barrier " << which;
            const std::string found(notices.data() + at * ACP_NOTICE_BYTES, ACP_NOTICE_BYTES);
            expected.resize(ACP_NOTICE_BYTES, '?');
            ASSERT_EQ(found, expected) << "barrier " << which << ", member " << member;
        }
    }
    free_team(team);
}

TEST_F(TeamMemoryTest, a_barrier_with_notices_is_a_barrier) {
    auto* const words = static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank_)));
    std::vector<char> notices(static_cast<std::size_t>(procs_) * ACP_NOTICE_BYTES);
    std::vector<std::size_t> sizes(static_cast<std::size_t>(procs_));
    const std::string notice(100, 'n');
    for (std::uint64_t round = 1; round <= 100; ++round) {
        words[0] = round;
        const std::size_t bytes = round % 2 * 100;
        ASSERT_EQ(acp_sync_team_notices(world_, notice.data(), bytes, notices.data(), sizes.data()),
                  0);
        for (int rank = 0; rank < procs_; ++rank) {
            const void* const there = acp_query_address(acp_query_starter_ga(rank));
            if (there == nullptr) continue;
            ASSERT_EQ(*static_cast<const std::uint64_t*>(there), round);
        }
        ASSERT_EQ(acp_sync_team(world_), 0);
    }
}

TEST_F(TeamMemoryTest, notices_that_cannot_be_are_refused) {
    std::vector<char> notices(static_cast<std::size_t>(procs_ + 1) * ACP_NOTICE_BYTES);
    std::vector<std::size_t> sizes(static_cast<std::size_t>(procs_));
    const auto call = [&](const void* notice, std::size_t size, void* all, std::size_t* lengths) {
        return acp_sync_team_notices(world_, notice, size, all, lengths);
    };
    expect_refused(call(notices.data(), ACP_NOTICE_BYTES + 1, notices.data(), sizes.data()),
                   ACP_ERR_LIMIT, "1025");
    expect_refused(call(nullptr, 1, notices.data(), sizes.data()), ACP_ERR_ARGUMENT,
                   "notice is NULL");
    expect_refused(call(nullptr, 0, nullptr, sizes.data()), ACP_ERR_ARGUMENT, "notices is NULL");
    expect_refused(call(nullptr, 0, notices.data(), nullptr), ACP_ERR_ARGUMENT, "sizes is NULL");
    expect_refused(acp_sync_team_notices(ACP_TEAM_NULL, nullptr, 0, notices.data(), sizes.data()),
                   ACP_ERR_STALE, "acp_sync_team_notices");
    EXPECT_EQ(acp_sync_team(world_), 0);
}

}  // namespace
}  // namespace acp::test
