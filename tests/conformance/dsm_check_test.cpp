// SPDX-License-Identifier: BSD-3-Clause
// ACP_DSM_CHECK on shared pages of several nodes (TEST_NODES=N): bytes that two nodes wrote between two
// barriers are found, named and counted, or an error of all ranks; writes that are ordered, or of
// different bytes, are not.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

class DsmCheckTest : public DsmTest {
protected:
    void SetUp() override {
        DsmTest::SetUp();
        if (IsSkipped()) return;
        nodes_ = std::atoi(std::getenv("TEST_NODES"));
        stops_ = std::strcmp(std::getenv("ACP_DSM_CHECK"), "stop") == 0;
        last_ = procs_ - 1;
    }

    // Pages whose home is node 0.
    static std::uint64_t* home_words(std::size_t bytes) {
        auto* const words =
            static_cast<std::uint64_t*>(acp_alloc_home_dsm(bytes, ACP_HOME_RANK, 0));
        EXPECT_NE(words, nullptr) << acp_error_message();
        return words;
    }

    // A barrier, or another collective call with one, before which there were races.
    template <typename Call>
    void expect_races(std::uint64_t races, const std::vector<std::string>& parts, Call call) {
        const std::uint64_t before = stats().races;
        const int result = call();
        EXPECT_EQ(stats().races - before, races);
        if (stops_ && races != 0) {
            EXPECT_EQ(result, -1);
            expect_error(ACP_ERR_STATE, parts);
        } else {
            EXPECT_EQ(result, 0) << acp_error_message();
        }
    }

    void expect_races(std::uint64_t races, const std::vector<std::string>& parts = {}) {
        expect_races(races, parts, acp_barrier_dsm);
    }

    [[nodiscard]] std::string on_last_node() const {
        return "on node " + std::to_string(nodes_ - 1) + " by rank " + std::to_string(last_);
    }

    static void free(void* address) { EXPECT_EQ(acp_free_dsm(address), 0) << acp_error_message(); }

    int nodes_ = 0;
    bool stops_ = false;
    int last_ = 0;  // a rank of the last node
};

constexpr std::uint64_t ones = 0x1111111111111111;

TEST_F(DsmCheckTest, bytes_that_two_nodes_wrote_are_named_and_the_next_barrier_works) {
    std::uint64_t* const words = home_words(2 * page);
    for (int round = 0; round < 3; ++round) {
        const auto value = static_cast<std::uint64_t>(round + 1) * ones;
        if (rank_ == 0) words[513] = value;
        if (rank_ == last_) words[513] = value + 3 * ones;
        expect_races(1, {"the same 8 bytes", hexadecimal_at(words + 513), "from byte 4104 on",
                         hexadecimal_at(words), "on node 0, its home,",
                         "on node " + std::to_string(nodes_ - 1) + " by "});
        EXPECT_TRUE(words[513] == value || words[513] == value + 3 * ones) << words[513];
        expect_races(0);
    }
    free(words);
}

TEST_F(DsmCheckTest, the_first_and_the_last_byte_of_a_page_are_checked) {
    auto* const bytes = reinterpret_cast<unsigned char*>(home_words(3 * page));
    for (const std::size_t place : {page, 2 * page - 1, std::size_t{0}, 3 * page - 1}) {
        if (rank_ == 0) bytes[place] = 1;
        if (rank_ == last_) bytes[place] = 2;
        expect_races(1, {"the same 1 byte", hexadecimal_at(bytes + place)});
    }
    free(bytes);
}

TEST_F(DsmCheckTest, two_nodes_that_are_no_home_race) {
    if (nodes_ < 3) GTEST_SKIP() << "it takes three nodes";
    std::uint64_t* const words = home_words(page);
    const int other = procs_ / nodes_;  // a rank of node 1
    if (rank_ == other) words[0] = 5 * ones;
    if (rank_ == last_) words[0] = 7 * ones;
    expect_races(1, {"on node 1 by rank " + std::to_string(other), on_last_node()});
    if (rank_ == 0 || rank_ == other || rank_ == last_)
        words[0] = static_cast<std::uint64_t>(rank_ + 9) * ones;
    expect_races(3);
    free(words);
}

TEST_F(DsmCheckTest, different_bytes_of_a_word_are_no_race) {
    auto* const bytes = reinterpret_cast<unsigned char*>(words(page));
    for (int round = 1; round < 5; ++round) {
        for (int i = rank_; i < 4096; i += procs_)
            bytes[i] = static_cast<unsigned char>(round + rank_);
        expect_races(0);
    }
    free(bytes);
}

TEST_F(DsmCheckTest, writes_before_and_behind_a_barrier_are_no_race) {
    std::uint64_t* const words = home_words(4 * page);
    for (std::uint64_t round = 1; round < 12; ++round) {
        const auto writer = static_cast<int>(round % static_cast<std::uint64_t>(procs_));
        for (std::uint64_t i = 0; i < 4; ++i)
            if (rank_ == writer) words[512 * i + 7] = round * ones;
        expect_races(0);
        EXPECT_EQ(words[7], round * ones);
        expect_races(0);
    }
    free(words);
}

TEST_F(DsmCheckTest, a_write_of_the_home_behind_a_difference_is_found) {
    std::uint64_t* const words = home_words(page);
    if (rank_ == last_) {
        words[9] = 2 * ones;
        EXPECT_EQ(acp_flush_dsm(words + 9, sizeof *words), 0) << acp_error_message();
        while (stats().pages_sent == 0) {
        }
    }
    sync_ranks();
    if (rank_ == 0) words[9] = 3 * ones;
    expect_races(1, {"the same 8 bytes"});
    free(words);
}

TEST_F(DsmCheckTest, fences_order_writes) {
    std::uint64_t* const words = home_words(2 * page);
    for (std::uint64_t round = 1; round < 4; ++round) {
        for (int writer = 0; writer < procs_; ++writer) {
            const int from = round % 2 == 0 ? writer : last_ - writer;
            if (rank_ == from) {
                ASSERT_EQ(acp_fence_dsm(words, 2 * page), 0) << acp_error_message();
                words[8] = words[600] = (16 * round + static_cast<std::uint64_t>(from)) * ones;
                ASSERT_EQ(acp_fence_dsm(words, 2 * page), 0) << acp_error_message();
            }
            sync_ranks();
        }
        expect_races(0);
    }
    // One node does not fence.
    if (rank_ == last_) words[8] = 100;
    if (rank_ == 0) {
        words[8] = 200;
        ASSERT_EQ(acp_fence_dsm(words, page), 0) << acp_error_message();
        words[8] = 300;
    }
    expect_races(1);
    free(words);
}

TEST_F(DsmCheckTest, bytes_bound_to_a_lock_are_no_race) {
    std::uint64_t* const words = home_words(page);
    const acp_lock_t lock{exchange(rank_ == 0 ? acp_create_lock(0).ga : 0)[0]};
    ASSERT_EQ(acp_bind_dsm(lock, words, 4 * sizeof *words), 0) << acp_error_message();
    for (std::uint64_t round = 1; round < 4; ++round) {
        ASSERT_GE(acp_lock(lock), 0) << acp_error_message();
        ++words[2];
        ASSERT_EQ(acp_unlock(lock), 0) << acp_error_message();
        words[100 + rank_] = round;
        expect_races(0);
        EXPECT_EQ(words[2], round * static_cast<std::uint64_t>(procs_));
        expect_races(0);
    }
    ASSERT_EQ(acp_bind_dsm(lock, nullptr, 0), 0) << acp_error_message();
    if (rank_ == last_) words[2] = 0;
    expect_races(0);
    free(words);
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    }
}

TEST_F(DsmCheckTest, atomics_of_all_ranks_are_no_race_with_writes_behind_the_barrier) {
    std::uint64_t* const words = home_words(page);
    for (std::uint64_t round = 1; round < 4; ++round) {
        acp_complete(acp_add8(ACP_GA_NULL, acp_query_ga_dsm(words + 3), 1, ACP_HANDLE_NULL));
        expect_races(0);
        if (rank_ == 0) {
            EXPECT_EQ(words[3], static_cast<std::uint64_t>(procs_));
        }
        expect_races(0);
        if (rank_ == last_) words[3] = 0;
        if (rank_ == 0) words[40] = round;
        expect_races(0);
    }
    free(words);
}

TEST_F(DsmCheckTest, ranks_of_one_node_are_not_checked) {
    if (procs_ == nodes_) GTEST_SKIP() << "each node has one rank";
    std::uint64_t* const words = home_words(page);
    if (rank_ >= procs_ - procs_ / nodes_) words[0] = static_cast<std::uint64_t>(rank_ + 1) * ones;
    expect_races(0);
    free(words);
}

TEST_F(DsmCheckTest, more_races_than_are_listed_are_counted) {
    std::uint64_t* const words = home_words(30 * page);
    for (std::size_t i = 0; i < 30; ++i) {
        if (rank_ == 0) words[512 * i] = ones;
        if (rank_ == last_) words[512 * i] = 2 * ones;
    }
    expect_races(30, {"29 times more"});
    free(words);
}

TEST_F(DsmCheckTest, pages_without_room_are_counted) {
    std::uint64_t* const words = home_words(window);
    const std::uint64_t before = stats().pages_unchecked;
    for (std::size_t i = 0; i < 64; ++i) words[512 * i + 8 * static_cast<std::size_t>(rank_)] = 1;
    expect_races(0);
    const std::uint64_t unchecked = stats().pages_unchecked - before;
    if (nodes_ < 3) {
        EXPECT_EQ(unchecked, 0U);
    } else {
        // Two nodes write each of 64 pages, and the home has room for 65 pairs.
        EXPECT_GE(unchecked, 32U);
        EXPECT_LE(unchecked, 63U);
    }
    expect_races(0);
    EXPECT_EQ(stats().pages_unchecked - before, unchecked);
    free(words);
}

TEST_F(DsmCheckTest, each_call_with_a_barrier_reports_and_changes_nothing_if_it_stops) {
    std::uint64_t* const words = home_words(page);
    const auto race = [&] {
        const std::uint64_t before = words[0];
        expect_races(0);
        if (rank_ == 0) words[0] = before + ones;
        if (rank_ == last_) words[0] = before + 2 * ones;
    };
    race();
    expect_races(1, {"acp_set_home_dsm", "the same 8 bytes"},
                 [&] { return acp_set_home_dsm(words, page, last_); });
    const bool has_moved = acp_query_home_dsm(words) != 0;
    EXPECT_EQ(has_moved, !stops_);
    race();
    expect_races(1, {"acp_free_dsm", "the same 8 bytes"}, [&] { return acp_free_dsm(words); });
    if (!stops_) return;
    EXPECT_NE(words[0], 0U) << "it is still there";
    free(words);
}

TEST_F(DsmCheckTest, homes_that_move_do_not_disturb_the_check) {
    std::uint64_t* const words = DsmTest::words(8 * page);
    for (std::uint64_t round = 1; round < 20; ++round) {
        for (std::size_t i = 0; i < 8; ++i) {
            const std::size_t writer = (round / 4 + i) % static_cast<std::size_t>(procs_);
            if (static_cast<std::size_t>(rank_) == writer) words[512 * i + 1] = round * ones;
            if (round % 5 == 0) words[512 * i + 64 + static_cast<std::size_t>(rank_)] = round;
        }
        expect_races(0);
    }
    for (std::uint64_t round = 20; round < 24; ++round) {
        if (rank_ == 0) words[1] = round * ones;
        if (rank_ == last_) words[1] = (round + 40) * ones;
        expect_races(1);
    }
    free(words);
}

}  // namespace
}  // namespace acp::test
