// SPDX-License-Identifier: BSD-3-Clause
// All ranks of a job run the operations of the test library on each other's memory, in every mode,
// on one node and on several, over networks that lose datagrams. TEST_PERCENT reduces the number of
// rounds.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

#include "invoke/caller.hpp"
#include "support/arena.hpp"
#include "support/mode.hpp"
#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t word_place = 0;
constexpr std::size_t log_place = 4096;
constexpr std::size_t arena_bytes = log_place + sizeof(Log);

std::uint64_t calls_wanted(std::uint64_t usual) {
    const char* given = std::getenv("TEST_PERCENT");
    const std::uint64_t percent = given == nullptr ? 100 : std::strtoull(given, nullptr, 0);
    return std::max<std::uint64_t>(usual * percent / 100, 50);
}

class InvokeRanks : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(300);
        std::fill(arena_.local().begin(), arena_.local().end(), std::byte{0});
        sync_ranks();
    }

    // The sum of all ranks' counts, by rank.
    [[nodiscard]] std::vector<std::uint64_t> total_of(const std::vector<std::uint64_t>& mine) {
        std::vector<std::uint64_t> totals;
        for (const std::uint64_t one : mine) {
            const auto all = exchange(one);
            std::uint64_t total = 0;
            for (const std::uint64_t given : all) total += given;
            totals.push_back(total);
        }
        return totals;
    }

    Arena arena_{Kind::starter, arena_bytes};
};

TEST_F(InvokeRanks, bounds_hold_and_every_addition_is_reported_to_its_initiator) {
    const std::uint64_t calls = calls_wanted(3000);
    const std::uint64_t bound = calls / 2;
    Random random(static_cast<std::uint64_t>(rank_) + 7);
    std::vector<std::uint64_t> added(static_cast<std::size_t>(procs_));
    std::vector<AddedBelow> results(64);
    for (std::uint64_t done = 0; done < calls; done += results.size()) {
        std::vector<std::size_t> to;
        for (AddedBelow& result : results) {
            const auto rank = static_cast<int>(random.below(static_cast<std::uint64_t>(procs_)));
            to.push_back(static_cast<std::size_t>(rank));
            invoke(rank, add_below_number, AddBelow{arena_.at(rank, word_place), 1, bound}, result);
        }
        ASSERT_TRUE(wait_for(gma::handle_all).is_ok());
        for (std::size_t i = 0; i < results.size(); ++i) {
            EXPECT_LE(results[i].old, bound);
            added[to[i]] += results[i].is_added;
        }
    }
    sync_ranks();
    const auto totals = total_of(added);
    EXPECT_EQ(arena_.word<std::uint64_t>(word_place), totals[static_cast<std::size_t>(rank_)]);
    EXPECT_LE(arena_.word<std::uint64_t>(word_place), bound);
}

TEST_F(InvokeRanks, every_record_is_appended_once_at_the_returned_place) {
    const std::uint64_t each =
        std::min(calls_wanted(1000), log_records / static_cast<std::uint64_t>(procs_));
    const int to = (rank_ + 1) % procs_;
    std::vector<std::uint64_t> places(each);
    for (std::uint64_t i = 0; i < each; ++i) {
        const std::uint64_t record = (static_cast<std::uint64_t>(rank_) << 32) + i + 1;
        invoke(i % 4 == 0 ? 0 : to, append_number,
               Append{arena_.at(i % 4 == 0 ? 0 : to, log_place), record}, places[i]);
    }
    ASSERT_TRUE(wait_for(gma::handle_all).is_ok());
    sync_ranks();
    for (const int owner : std::set<int>{0, to}) {
        const std::vector<std::byte> bytes = arena_.fetched_from(owner);
        const Log& log = *reinterpret_cast<const Log*>(bytes.data() + log_place);
        ASSERT_LE(log.count, log_records);
        for (std::uint64_t i = 0; i < log.count; ++i) EXPECT_NE(log.records[i], 0U) << i;
        for (std::uint64_t i = 0; i < each; ++i) {
            if ((i % 4 == 0 ? 0 : to) != owner) continue;
            ASSERT_LT(places[i], log.count);
            EXPECT_EQ(log.records[places[i]], (static_cast<std::uint64_t>(rank_) << 32) + i + 1);
        }
    }
}

// A word travels around all ranks; each step reads the result of the step before.
TEST_F(InvokeRanks, copies_and_operations_on_several_ranks_run_in_the_order_asked_for) {
    if (rank_ != 0) return;
    std::vector<AddedBelow> results(static_cast<std::size_t>(procs_));
    for (std::uint64_t round = 0; round < calls_wanted(200); ++round) {
        arena_.word<std::uint64_t>(8) = 1000 * round;
        gma::Handle last = gma::handle_null;
        acp_ga_t from = arena_.at(0, 8);
        for (int rank = 0; rank < procs_; ++rank) {
            const acp_ga_t word = arena_.at(rank, word_place);
            last = global_memory().issue({.target = word, .source = from, .bytes = 8}, last);
            last = invoke(rank, add_below_number, AddBelow{word, 1, ~0ULL >> 1},
                          results[static_cast<std::size_t>(rank)],
                          round % 2 == 0 ? last : gma::handle_cont);
            from = word;
        }
        ASSERT_TRUE(wait_for(last).is_ok());
        for (std::size_t i = 0; i < results.size(); ++i) {
            ASSERT_EQ(results[i].old, 1000 * round + i);
            ASSERT_EQ(results[i].is_added, 1U);
        }
    }
}

TEST_F(InvokeRanks, long_results_come_whole) {
    const int to = (rank_ + procs_ - 1) % procs_;
    for (std::uint64_t i = 0; i < summed_words_max; ++i) {
        arena_.word<std::uint64_t>(8 * i) = 100 * static_cast<std::uint64_t>(rank_) + i;
    }
    sync_ranks();
    std::vector<std::array<std::uint64_t, summed_words_max + 1>> results(calls_wanted(200));
    for (auto& result : results) {
        invoke(to, sum_number, Sum{arena_.at(to), summed_words_max}, result);
    }
    ASSERT_TRUE(wait_for(gma::handle_all).is_ok());
    for (const auto& result : results) {
        std::uint64_t total = 0;
        for (std::uint64_t i = 0; i < summed_words_max; ++i) {
            ASSERT_EQ(result[i + 1], 100 * static_cast<std::uint64_t>(to) + i);
            total += result[i + 1];
        }
        ASSERT_EQ(result[0], total);
    }
}

TEST_F(InvokeRanks, what_cannot_run_fails_with_a_sentence_and_spoils_nothing) {
    const int to = (rank_ + 1) % procs_;
    AddedBelow result{77, 77};
    const AddBelow good{arena_.at(to, word_place), 1, 1000};
    base::Status status = wait_for(invoke(to, 99, good, result));
    EXPECT_EQ(status.code(), base::Code::unsupported) << text_of(status);
    EXPECT_NE(
        text_of(status).find("operation 99 (unknown) on memory of rank " + std::to_string(to)),
        std::string::npos)
        << text_of(status);
    const std::uint64_t wild =
        global_memory().space().layout().segment_start(process_of(to), 77, 1);
    status = wait_for(invoke(to, add_below_number, AddBelow{wild, 1, 9}, result));
    EXPECT_EQ(status.code(), base::Code::address) << text_of(status);
    EXPECT_NE(text_of(status).find("add_below on memory of rank"), std::string::npos)
        << text_of(status);
    EXPECT_EQ(result.old, 77U);
    EXPECT_TRUE(wait_for(invoke(to, add_below_number, good, result)).is_ok());
    sync_ranks();
    EXPECT_EQ(arena_.word<std::uint64_t>(word_place), 1U);
}

// Private memory can be accessed only by an operation that its own process runs: not by another
// rank of its node, and not by the agent's gateway, but by a gateway in the process itself.
TEST_F(InvokeRanks, private_memory_of_another_rank_is_reached_by_itself_alone) {
    const Arena own(Kind::registered, 4096);
    sync_ranks();
    AddedBelow result{77, 77};
    EXPECT_TRUE(
        wait_for(invoke(rank_, add_below_number, AddBelow{own.at(rank_), 2, 9}, result)).is_ok());
    const int to = (rank_ + 1) % procs_;
    const bool is_lone = mode().nodes == procs_ && std::getenv("ACP_GATEWAY") == nullptr;
    sync_ranks();
    const base::Status status =
        wait_for(invoke(to, add_below_number, AddBelow{own.at(to), 2, 9}, result));
    EXPECT_EQ(status.code(), is_lone ? base::Code::ok : base::Code::unsupported) << text_of(status);
    if (!is_lone) {
        EXPECT_NE(text_of(status).find("private to that rank"), std::string::npos)
            << text_of(status);
    }
    sync_ranks();
    EXPECT_EQ(own.word<std::uint64_t>(0), is_lone ? 4U : 2U);
}

// Ranks change, and all earlier commands are complete: no command of an epoch writes into the next
// one.
TEST_F(InvokeRanks, a_reset_ends_all_and_operations_run_on) {
    std::vector<AddedBelow> results(32);
    for (AddedBelow& result : results) {
        invoke((rank_ + 1) % procs_, add_below_number,
               AddBelow{arena_.at((rank_ + 1) % procs_, word_place), 1, 1000}, result);
    }
    ASSERT_EQ(acp_reset((rank_ + 1) % procs_), 0) << acp_error_message();
    for (AddedBelow& result : results) result = {77, 77};
    const int own = acp_rank();
    const int to = (own + 1) % procs_;
    AddedBelow result;
    const AddBelow asked{acp_query_starter_ga(to), 5, 1000};
    EXPECT_TRUE(wait_for(invoke(to, add_below_number, asked, result)).is_ok());
    EXPECT_EQ(result.old, 0U);
    sync_ranks();
    for (const AddedBelow& late : results) EXPECT_EQ(late.old, 77U);
    ASSERT_EQ(acp_reset(rank_), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
