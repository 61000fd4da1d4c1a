// SPDX-License-Identifier: BSD-3-Clause
// Bytes spread over ranks in blocks: where each byte is, on which rank the next workspace begins,
// and copies across blocks, against a plain array; numbers of destroyed workspaces stay unknown.
#include "data/workspace.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "support/rank_node.hpp"
#include "support/refuse_memory.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::data::test {
namespace {

using base::Code;

TEST(Spread, counts_each_block_on_one_rank_and_begins_the_next_behind_the_last) {
    acp::test::Random random(1);
    for (int round = 0; round < 500; ++round) {
        Spread spread;
        spread.ranks = static_cast<std::uint32_t>(1 + random.below(9));
        spread.first_rank = static_cast<std::uint32_t>(random.below(spread.ranks));
        spread.block_bytes = 1 + random.below(100);
        spread.bytes = random.below(2000);
        std::vector<std::uint64_t> expected(spread.ranks);
        std::uint32_t rank = spread.first_rank;
        for (std::uint64_t at = 0; at < spread.bytes; at += spread.block_bytes) {
            expected[rank] += spread.block_bytes;
            rank = (rank + 1) % spread.ranks;
        }
        EXPECT_EQ(spread.next_rank(), rank);
        for (rank = 0; rank < spread.ranks; ++rank)
            ASSERT_EQ(spread.part_bytes(rank), expected[rank]) << "rank " << rank;
    }
}

class WorkspacesTest : public testing::Test {
protected:
    // Makes a workspace of this many bytes, in the heaps of all ranks.
    WorkspaceNumber make(std::uint64_t bytes) {
        const Spread spread = workspaces_.next(bytes, ranks_.size());
        const WorkspaceNumber number = workspaces_.reserve(ranks_.size());
        workspaces_.add(number, spread, 0, [&](std::uint32_t rank) -> memory::GlobalAddress {
            const std::uint64_t part = spread.part_bytes(rank);
            return part == 0 ? 0 : ranks_[rank].allocator->allocate(rank, part, 64).value();
        });
        return number;
    }

    base::Status move(WorkspaceNumber number, std::uint64_t bytes, std::uint64_t at, bool is_read) {
        gma::Gma& gma = *ranks_[0].gma;
        return workspaces_.move(number, gma.space().starter_address(0), bytes, at, is_read);
    }

    [[nodiscard]] char* starter() const { return ranks_.segment().starter(0); }

    void expect_stale(const base::Status& status) {
        EXPECT_EQ(status.code(), Code::stale);
        EXPECT_NE(status.message().find("no such workspace"), std::string_view::npos);
    }

    acp::test::ScopedWatchdog watchdog_{"a workspace"};
    acp::test::RankNode ranks_{3};
    Workspaces workspaces_{*ranks_[0].gma, *ranks_[0].allocator, 0};
};

TEST_F(WorkspacesTest, copies_of_any_range_equal_those_of_an_array) {
    for (const std::uint64_t block_bytes : {1U, 7U, 64U, 1000U, 100'000U}) {
        ASSERT_TRUE(workspaces_.set_parameters(2, block_bytes, 3).is_ok());
        constexpr std::uint64_t bytes = 5000;
        const WorkspaceNumber number = make(bytes);
        acp::test::Random random(block_bytes);
        std::string model(bytes, '\0');
        std::memset(starter(), 0, bytes);
        ASSERT_TRUE(move(number, bytes, 0, false).is_ok());
        for (int round = 0; round < 60; ++round) {
            const std::uint64_t at = random.below(bytes + 1);
            const std::uint64_t count = random.below(bytes - at + 1);
            for (std::uint64_t i = 0; i < count; ++i)
                model[at + i] = starter()[i] = static_cast<char>(random.next());
            ASSERT_TRUE(move(number, count, at, false).is_ok());
            const std::uint64_t from = random.below(bytes);
            const std::uint64_t read = random.below(bytes - from + 1);
            ASSERT_TRUE(move(number, read, from, true).is_ok());
            ASSERT_EQ(std::string(starter(), read), model.substr(from, read))
                << read << " bytes at " << from << ", blocks of " << block_bytes;
        }
        EXPECT_TRUE(workspaces_.destroy(number).is_ok());
    }
}

TEST_F(WorkspacesTest, a_range_beyond_the_end_is_refused_with_its_numbers) {
    const WorkspaceNumber number = make(100);
    EXPECT_TRUE(move(number, 100, 0, true).is_ok());
    EXPECT_TRUE(move(number, 0, 100, true).is_ok());

    struct Row {
        std::uint64_t bytes;
        std::uint64_t at;
    };

    for (const Row& row : {Row{101, 0}, Row{1, 100}, Row{0, 101}, Row{~0ULL, 50}, Row{2, ~0ULL}}) {
        const base::Status status = move(number, row.bytes, row.at, false);
        EXPECT_EQ(status.code(), Code::argument);
        EXPECT_NE(status.message().find("offset " + std::to_string(row.at)), std::string_view::npos)
            << status.message();
    }
}

TEST_F(WorkspacesTest, a_destroyed_number_is_never_another_workspace) {
    const std::uint64_t before = ranks_[0].allocator->usage(0).value().block_bytes;
    const WorkspaceNumber first = make(100);
    EXPECT_TRUE(workspaces_.destroy(first).is_ok());
    EXPECT_EQ(ranks_[0].allocator->usage(0).value().block_bytes, before) << "its part stays";
    expect_stale(workspaces_.destroy(first));
    expect_stale(move(first, 1, 0, true));
    const WorkspaceNumber second = make(100);
    EXPECT_NE(second, first);
    expect_stale(move(first, 1, 0, true));
    expect_stale(move(0, 1, 0, true));
    EXPECT_TRUE(workspaces_.destroy(second).is_ok());
    EXPECT_GE(workspaces_.numbers_given(), second);
}

TEST_F(WorkspacesTest, a_reserved_number_is_no_workspace_yet) {
    const WorkspaceNumber number = workspaces_.reserve(3);
    expect_stale(move(number, 0, 0, true));
    expect_stale(workspaces_.destroy(number));
    workspaces_.drop(number);
    EXPECT_NE(workspaces_.reserve(3), number);
    const acp::test::Refusal refusal(1, acp::test::all_from_there);
    EXPECT_THROW((void)workspaces_.reserve(3), std::bad_alloc);
}

TEST_F(WorkspacesTest, wrong_parameters_change_nothing) {
    ASSERT_TRUE(workspaces_.set_parameters(1, 8, 3).is_ok());
    const base::Status no_rank = workspaces_.set_parameters(3, 8, 3);
    EXPECT_EQ(no_rank.code(), Code::argument);
    EXPECT_NE(no_rank.message().find("rank 3 is not one of 0 to 2"), std::string_view::npos);
    EXPECT_EQ(workspaces_.set_parameters(0, 0, 3).code(), Code::argument);
    EXPECT_EQ(workspaces_.next(10, 3).block_bytes, 8U);
    EXPECT_EQ(workspaces_.next(10, 3).first_rank, 1U);
    (void)make(16);  // two blocks, on ranks 1 and 2
    EXPECT_EQ(workspaces_.next(10, 3).first_rank, 0U);
}

}  // namespace
}  // namespace acp::data::test
