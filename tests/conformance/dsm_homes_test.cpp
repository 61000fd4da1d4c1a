// SPDX-License-Identifier: BSD-3-Clause
// Where the homes of shared pages are by each policy, what acp_set_home_dsm moves, and that random
// writers read the bytes of a plain model whatever the homes. TEST_NODES: the number of nodes;
// TEST_SEEDS: how many random programs run; TEST_SEED alone repeats one.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "support/random.hpp"
#include "support/ranked.hpp"

namespace acp::test {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t page_words = page / sizeof(std::uint64_t);
constexpr std::size_t window = 128 * page;
// With ACP_DSM_FAULTS=protect a write counts as one to all pages of its block.
constexpr std::size_t block = 16;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

class DsmHomesTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        const bool is_open = acp_init_dsm(window) == 0;
        if (!is_open && acp_errno() == ACP_ERR_UNSUPPORTED) GTEST_SKIP() << acp_error_message();
        ASSERT_TRUE(is_open) << acp_error_message();
        nodes_ = static_cast<int>(from_environment("TEST_NODES", 1));
        for (int node = 0; node < nodes_; ++node) leaders_.push_back(node * procs_ / nodes_);
    }

    void TearDown() override {
        if (!leaders_.empty()) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    // Ranks fill the nodes in their order, as many on each.
    [[nodiscard]] int leader_of(int rank) const {
        return leaders_[static_cast<std::size_t>(rank * nodes_ / procs_)];
    }

    std::uint64_t* allocate(std::size_t pages, acp_home_t policy, std::uint64_t argument = 0) {
        auto* const words =
            static_cast<std::uint64_t*>(acp_alloc_home_dsm(pages * page, policy, argument));
        EXPECT_NE(words, nullptr) << acp_error_message();
        return words;
    }

    [[nodiscard]] static std::vector<int> homes(const std::uint64_t* words, std::size_t pages) {
        std::vector<int> all;
        for (std::size_t i = 0; i < pages; ++i)
            all.push_back(acp_query_home_dsm(words + i * page_words));
        return all;
    }

    // The homes if page i lies on node_of(i).
    template <typename NodeOf>
    [[nodiscard]] std::vector<int> at(std::size_t pages, const NodeOf& node_of) const {
        std::vector<int> all;
        for (std::size_t i = 0; i < pages; ++i) all.push_back(leaders_[node_of(i)]);
        return all;
    }

    void barrier() { ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message(); }

    int nodes_ = 1;
    std::vector<int> leaders_;
};

TEST_F(DsmHomesTest, each_policy_gives_every_page_the_home_that_it_names) {
    constexpr std::size_t pages = 12;
    const auto nodes = static_cast<std::size_t>(nodes_);
    const auto in_blocks = at(pages, [&](std::size_t i) { return i * nodes / pages; });
    for (const acp_home_t policy : {ACP_HOME_MIGRATING, ACP_HOME_BLOCK, ACP_HOME_FIRST_WRITER})
        EXPECT_EQ(homes(allocate(pages, policy), pages), in_blocks) << policy;
    for (const std::size_t run : {std::size_t{1}, std::size_t{5}, std::size_t{1} << 31}) {
        std::uint64_t* const words = allocate(pages, ACP_HOME_CYCLIC, run);
        EXPECT_EQ(homes(words, pages), at(pages, [&](std::size_t i) { return i / run % nodes; }));
        EXPECT_EQ(acp_free_dsm(words), 0) << acp_error_message();
    }
    for (int rank = 0; rank < procs_; ++rank) {
        std::uint64_t* const words = allocate(2, ACP_HOME_RANK, static_cast<std::uint64_t>(rank));
        EXPECT_EQ(homes(words, 2), std::vector<int>(2, leader_of(rank)));
        EXPECT_EQ(acp_free_dsm(words), 0) << acp_error_message();
    }
}

TEST_F(DsmHomesTest, a_move_fetches_pages_that_barriers_fetch_again_once) {
    if (nodes_ < 3) GTEST_SKIP() << "a node that is neither the old home nor the new one";
    auto* const words = allocate(block, ACP_HOME_RANK, 0);
    const bool reads = rank_ == leaders_[2];
    const auto sum = [&] {
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < block; ++i) all += words[i * page_words];
        return all;
    };
    if (reads) {
        ASSERT_EQ(acp_set_update_dsm(words, block * page, ACP_UPDATE_ALWAYS), 0);
        EXPECT_EQ(sum(), 0U);
    }
    barrier();  // the home begins to track its writes
    if (reads) {
        EXPECT_EQ(sum(), 0U);
    }
    barrier();
    for (std::size_t i = 0; rank_ == 0 && i < block; ++i) words[i * page_words] = 1;
    acp_stats_dsm_t before{};
    acp_stats_dsm_t after{};
    ASSERT_EQ(acp_query_stats_dsm(&before, sizeof before), 0);
    ASSERT_EQ(acp_set_home_dsm(words, block * page, leaders_[1]), 0) << acp_error_message();
    if (reads) {
        EXPECT_EQ(sum(), block);
        ASSERT_EQ(acp_query_stats_dsm(&after, sizeof after), 0);
        EXPECT_EQ(after.pages_fetched - before.pages_fetched, block);
        EXPECT_EQ(after.faults, before.faults);
    }
    barrier();
}

TEST_F(DsmHomesTest, pages_stay_or_follow_their_only_writer_as_the_policy_says) {
    const int last = procs_ - 1;
    std::uint64_t* const fixed = allocate(block, ACP_HOME_RANK, 0);
    std::uint64_t* const migrating = allocate(block, ACP_HOME_MIGRATING);
    std::uint64_t* const first = allocate(block, ACP_HOME_FIRST_WRITER);
    std::uint64_t* const shared = allocate(block, ACP_HOME_FIRST_WRITER);
    for (std::uint64_t step = 1; step <= 3; ++step) {
        if (rank_ == last) *fixed = *migrating = *first = step;
        shared[rank_] = step;
        barrier();
        EXPECT_EQ(*fixed + *migrating + *first, 3 * step);
        EXPECT_EQ(acp_query_home_dsm(fixed), 0);
        EXPECT_EQ(acp_query_home_dsm(migrating), step == 1 ? 0 : leader_of(last)) << step;
        EXPECT_EQ(acp_query_home_dsm(first), leader_of(last)) << step;
        EXPECT_EQ(acp_query_home_dsm(shared), 0) << step;
        barrier();
    }
    // A page that is not written awaits its writer; it moves once.
    std::uint64_t* const late = allocate(block, ACP_HOME_FIRST_WRITER);
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(*late, 0U);
        barrier();
        EXPECT_EQ(acp_query_home_dsm(late), 0);
    }
    for (const int writer : {last, 0, 0, 0}) {
        if (rank_ == writer) *late += 1;
        barrier();
        EXPECT_EQ(acp_query_home_dsm(late), leader_of(last));
    }
    EXPECT_EQ(*late, 4U);
    barrier();
}

TEST_F(DsmHomesTest, a_range_moves_with_its_bytes_to_the_node_of_a_rank) {
    constexpr std::size_t pages = 20;
    std::uint64_t* const words = allocate(pages, ACP_HOME_CYCLIC, 1);
    std::vector<int> expected = homes(words, pages);
    const auto own = static_cast<std::size_t>(rank_);
    for (int target = procs_ - 1; target >= 0; --target) {
        const auto moved = static_cast<std::uint64_t>(target);
        for (std::size_t i = 0; i < pages; ++i) words[i * page_words + own] = 100 + moved + i;
        // From within the fourth page to within the twelfth.
        ASSERT_EQ(acp_set_home_dsm(words + 3 * page_words + 9, 8 * page, target), 0)
            << acp_error_message();
        std::fill(expected.begin() + 3, expected.begin() + 12, leader_of(target));
        EXPECT_EQ(homes(words, pages), expected);
        for (std::size_t i = 0; i < pages; ++i) {
            for (std::size_t rank = 0; rank < static_cast<std::size_t>(procs_); ++rank)
                ASSERT_EQ(words[i * page_words + rank], 100 + moved + i) << i << " of " << rank;
        }
        barrier();
    }
}

// The thread that flushes for one rank may begin when that rank is in the call already, and then send
// what another rank of the node has written.
TEST_F(DsmHomesTest, writes_that_a_flush_has_begun_to_send_arrive_before_homes_move) {
    const std::uint64_t steps = from_environment("TEST_ROUNDS", 100);
    allow_seconds(static_cast<unsigned>(60 + steps));
    std::uint64_t* const words = allocate(2, ACP_HOME_RANK, 0);
    const auto ranks = static_cast<std::uint64_t>(procs_);
    for (std::uint64_t step = 1; step <= steps; ++step) {
        if (step % ranks == static_cast<std::uint64_t>(rank_)) {
            words[0] = step;
        } else {
            ASSERT_EQ(acp_flush_dsm(words, page), 0) << acp_error_message();
        }
        ASSERT_EQ(acp_set_home_dsm(words + page_words, page, static_cast<int>(step % ranks)), 0)
            << acp_error_message();
        ASSERT_EQ(words[0], step);
        barrier();
    }
}

// In each step a random rank writes each word, and now and then a range moves.
TEST_F(DsmHomesTest, random_writers_read_the_bytes_of_the_model_under_every_policy) {
    const std::uint64_t first = from_environment("TEST_SEED", 1);
    const std::uint64_t end = std::getenv("TEST_SEED") != nullptr
                                  ? first + 1
                                  : first + from_environment("TEST_SEEDS", 10);
    allow_seconds(static_cast<unsigned>(60 + end - first));
    constexpr std::size_t pages = 10;
    constexpr std::size_t words_of_page = 16;  // those that are used, over the whole page
    constexpr std::size_t stride = page_words / words_of_page;
    for (std::uint64_t seed = first; seed < end; ++seed) {
        SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
        Random random(seed);
        Random reads(seed * 64 + static_cast<std::uint64_t>(rank_));
        const auto policy = static_cast<acp_home_t>(random.below(5));
        const std::uint64_t argument = policy == ACP_HOME_CYCLIC ? random.between(1, 4)
                                       : policy == ACP_HOME_RANK
                                           ? random.below(static_cast<std::uint64_t>(procs_))
                                           : 0;
        std::uint64_t* const words = allocate(pages, policy, argument);
        std::vector<std::uint64_t> model(pages * words_of_page);
        for (std::uint64_t step = 1; step <= 12; ++step) {
            // One rank writes all words of some pages, so that they move.
            for (std::size_t i = 0; i < pages; ++i) {
                const bool has_one_writer = random.chance(50);
                const std::uint64_t writer = random.below(static_cast<std::uint64_t>(procs_) + 1);
                for (std::size_t word = 0; word < words_of_page; ++word) {
                    const std::uint64_t one = random.below(static_cast<std::uint64_t>(procs_) + 2);
                    const std::uint64_t by = has_one_writer ? writer : one;
                    if (by >= static_cast<std::uint64_t>(procs_)) continue;  // no rank writes it
                    std::uint64_t& known = model[i * words_of_page + word];
                    if (by == static_cast<std::uint64_t>(rank_))
                        words[i * page_words + word * stride] = known + by + step;
                    known += by + step;
                }
            }
            if (random.chance(30)) {
                const std::size_t from = random.below(pages);
                const std::size_t count = random.between(1, pages - from);
                const int rank = static_cast<int>(random.below(static_cast<std::uint64_t>(procs_)));
                ASSERT_EQ(acp_set_home_dsm(words + from * page_words, count * page, rank), 0)
                    << acp_error_message();
                for (std::size_t i = from; i < from + count; ++i)
                    ASSERT_EQ(acp_query_home_dsm(words + i * page_words), leader_of(rank));
            } else {
                barrier();
            }
            for (std::size_t at = 0; at < model.size(); ++at) {
                const std::size_t word =
                    at / words_of_page * page_words + at % words_of_page * stride;
                if (reads.chance(60)) {
                    ASSERT_EQ(words[word], model[at]) << "step " << step << ", word " << word;
                }
            }
            barrier();
        }
        ASSERT_EQ(acp_free_dsm(words), 0) << acp_error_message();
    }
}

// The new home sends no notice of its writes to nodes that fetched the pages from the home before.
TEST_F(DsmHomesTest,
       a_rank_that_read_pages_before_their_home_moved_reads_what_the_new_home_writes) {
    std::uint64_t* const words = allocate(8, ACP_HOME_RANK);
    for (std::uint64_t round = 1; round <= 4; ++round) {
        const int home = static_cast<int>(round) % procs_;
        const int former = static_cast<int>(round - 1) % procs_;
        // A barrier drops what was fetched before the home tracked its writes, and keeps what is now.
        for (int read = 0; read < 2; ++read) {
            for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(words[i * page_words], round - 1);
            ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        }
        ASSERT_EQ(acp_set_home_dsm(words, 8 * page, home), 0) << acp_error_message();
        // A fetch by the home before would make the new one track its writes.
        for (std::size_t i = 0; i < 8 && rank_ != former; ++i)
            EXPECT_EQ(words[i * page_words + 1], 0U);
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        for (std::size_t i = 0; i < 8 && rank_ == home; ++i) words[i * page_words] = round;
        ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
    }
}

TEST_F(DsmHomesTest, policies_ranks_and_ranges_that_do_not_exist_are_refused) {
    struct Refused {
        int policy;
        std::uint64_t argument;
        std::size_t size;
        const char* said;
    };

    const std::uint64_t ranks = static_cast<std::uint64_t>(procs_);
    for (const Refused& row : std::vector<Refused>{
             {-1, 0, page, "policy is -1"},
             {5, 0, page, "policy is 5"},
             {ACP_HOME_MIGRATING, 1, page, "0 alone"},
             {ACP_HOME_BLOCK, 1, page, "0 alone"},
             {ACP_HOME_FIRST_WRITER, ~std::uint64_t{0}, page, "0 alone"},
             {ACP_HOME_CYCLIC, 0, page, "1 to 2147483648 pages"},
             {ACP_HOME_CYCLIC, (std::uint64_t{1} << 31) + 1, page, "1 to 2147483648 pages"},
             {ACP_HOME_RANK, ranks, page, "ranks 0 to"},
             {ACP_HOME_RANK, ~std::uint64_t{0}, page, "ranks 0 to"},
             {ACP_HOME_BLOCK, 0, 0, "0 bytes"}}) {
        EXPECT_EQ(acp_alloc_home_dsm(row.size, static_cast<acp_home_t>(row.policy), row.argument),
                  nullptr);
        expect_error(ACP_ERR_ARGUMENT, {"acp_alloc_home_dsm", row.said});
    }
    std::uint64_t* const words = allocate(2, ACP_HOME_BLOCK);
    EXPECT_EQ(acp_alloc_home_dsm(window, ACP_HOME_CYCLIC, 2), nullptr);
    expect_error(ACP_ERR_LIMIT, {"acp_alloc_home_dsm", "of 128 pages 2 are allocated"});
    std::uint64_t own = 0;
    for (const int rank : {-1, procs_, 1 << 30}) {
        EXPECT_EQ(acp_set_home_dsm(words, page, rank), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_set_home_dsm", "the rank is " + std::to_string(rank)});
    }
    EXPECT_EQ(acp_set_home_dsm(words, 0, 0), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_set_home_dsm", "0 bytes"});
    for (const void* const wrong :
         std::vector<const void*>{nullptr, &own, words + 2 * window / 8}) {
        EXPECT_EQ(acp_set_home_dsm(wrong, page, 0), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_set_home_dsm", "leaves the shared pages"});
        EXPECT_EQ(acp_query_home_dsm(wrong), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_query_home_dsm", "in no shared page"});
    }
    EXPECT_EQ(acp_set_home_dsm(words, 3 * page, 0), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_set_home_dsm", "leaves the allocations"});
    if (nodes_ > 1) {
        EXPECT_EQ(acp_query_home_dsm(words + 2 * page_words), -1);
        expect_error(ACP_ERR_ARGUMENT, {"acp_query_home_dsm", "no allocation"});
    }
}

TEST_F(DsmHomesTest, ranks_that_name_different_homes_fail_together) {
    if (procs_ == 1) GTEST_SKIP() << "one rank agrees with itself";
    // All ranks have left acp_init_dsm, which would fail too on a rank that is still in it.
    ASSERT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
    const acp_home_t policy = rank_ == 0 ? ACP_HOME_BLOCK : ACP_HOME_CYCLIC;
    EXPECT_EQ(acp_alloc_home_dsm(page, policy, rank_ == 0 ? 0 : 2), nullptr);
    expect_error(ACP_ERR_MISMATCH, {"by policy 1 with argument 0", "by policy 2 with argument 2"});
    EXPECT_EQ(acp_finalize_dsm(), -1);
    ASSERT_EQ(acp_sync_team(acp_world_team()), 0) << acp_error_message();
    ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
