// SPDX-License-Identifier: BSD-3-Clause
// The bound of the copies that a node keeps (acp_set_cache_dsm): programs that use 16 times as much
// compute what they compute without a bound, by threads of several ranks of a node, and the copies
// never take more than the bound, in the statistics and in the memory of the node's file.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include "conformance/dsm_fixture.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::size_t bound_pages = 128;
constexpr std::size_t bound = bound_pages * page;
constexpr std::size_t pages_count = 16 * bound_pages;
constexpr std::size_t array_bytes = pages_count * page;
constexpr std::size_t words_of_page = page / 8;

// The file that the mapping with an address shares: its inode.
ino_t inode_of(const void* address) {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    while (std::getline(maps, line)) {
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        unsigned long inode = 0;
        if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %lu", &begin, &end,
                        &inode) != 3)
            continue;
        if (wanted >= begin && wanted < end) return inode;
    }
    return 0;
}

// The memory of the node's file, which all its ranks share.
class NodeFile {
public:
    explicit NodeFile(const void* address) {
        const ino_t inode = inode_of(address);
        DIR* const folder = opendir("/proc/self/fd");
        while (const dirent* entry = folder != nullptr ? readdir(folder) : nullptr) {
            const int descriptor = std::atoi(entry->d_name);

            struct stat now {};

            if (inode != 0 && fstat(descriptor, &now) == 0 && now.st_ino == inode)
                descriptor_ = descriptor;
        }
        if (folder != nullptr) closedir(folder);
    }

    [[nodiscard]] std::uint64_t bytes() const {
        struct stat now {};

        EXPECT_EQ(fstat(descriptor_, &now), 0);
        return static_cast<std::uint64_t>(now.st_blocks) * 512;
    }

private:
    int descriptor_ = -1;
};

class DsmCacheTest : public RankedTest {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        allow_seconds(240);
        if (is_refused_here()) GTEST_SKIP() << acp_error_message();
        ASSERT_EQ(acp_init_dsm(2 * array_bytes), 0) << acp_error_message();
        is_open_ = true;
        ASSERT_EQ(acp_set_cache_dsm(bound), 0) << acp_error_message();
    }

    void TearDown() override {
        if (is_open_) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    static acp_stats_dsm_t stats() {
        acp_stats_dsm_t now;
        EXPECT_EQ(acp_query_stats_dsm(&now, sizeof now), 0) << acp_error_message();
        return now;
    }

    static void barrier() { ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message(); }

    // The bound holds at a barrier until a rank of the node touches a page again: then it may be
    // exceeded by some pages until the next barrier, as acp_set_cache_dsm(3) says.
    static void expect_bound_behind_barrier() {
        barrier();
        EXPECT_LE(stats().bytes_cached, bound);
        barrier();
    }

    // All pages have their home on the node of rank 0, where the first word of each is its number.
    std::uint64_t* numbered_pages() const {
        auto* const words =
            static_cast<std::uint64_t*>(acp_alloc_home_dsm(array_bytes, ACP_HOME_RANK, 0));
        EXPECT_NE(words, nullptr) << acp_error_message();
        if (rank_ == 0)
            for (std::size_t i = 0; i < pages_count; ++i) words[i * words_of_page] = i;
        EXPECT_EQ(acp_barrier_dsm(), 0) << acp_error_message();
        return words;
    }

    // Whether this rank is on the node of rank 0. TEST_NODES is the number of nodes.
    [[nodiscard]] static bool is_at_home() {
        if (!has_several_nodes()) return true;
        return acp_rank() < acp_procs() / std::atoi(std::getenv("TEST_NODES"));
    }

    // One rank of each node but that of rank 0.
    [[nodiscard]] static bool is_reader() {
        if (is_at_home()) return false;
        const int of_node = acp_procs() / std::atoi(std::getenv("TEST_NODES"));
        return acp_rank() % of_node == 0;
    }

    [[nodiscard]] static bool maps_whole_blocks() {
        const char* const way = std::getenv("ACP_DSM_FAULTS");
        return way != nullptr && std::string(way) == "protect";
    }

    bool is_open_ = false;
};

// Follows the copies of the node while other threads touch pages.
class Sampler {
public:
    explicit Sampler(const void* address) : file_(address), bytes_before_(file_.bytes()) {
        thread_ = std::thread([this] {
            while (!is_over_.load(std::memory_order_relaxed)) {
                look();
                std::this_thread::yield();
            }
        });
    }

    ~Sampler() {
        is_over_ = true;
        thread_.join();
    }

    Sampler(const Sampler&) = delete;
    Sampler& operator=(const Sampler&) = delete;

    void look() {
        acp_stats_dsm_t now;
        EXPECT_EQ(acp_query_stats_dsm(&now, sizeof now), 0);
        most_cached = std::max<std::uint64_t>(most_cached, now.bytes_cached);
        const std::uint64_t bytes = file_.bytes();
        most_bytes = std::max(most_bytes, bytes > bytes_before_ ? bytes - bytes_before_ : 0);
    }

    std::uint64_t most_cached = 0;
    std::uint64_t most_bytes = 0;  // bytes that the file has more than at first

private:
    NodeFile file_;
    std::uint64_t bytes_before_;
    std::atomic<bool> is_over_{false};
    std::thread thread_;
};

TEST_F(DsmCacheTest, a_loop_over_16_times_the_bound_keeps_it_in_statistics_and_memory) {
    const std::uint64_t* const words = numbered_pages();
    // Pages that several ranks read would stay until the barrier.
    const bool reads = is_reader();
    std::uint64_t sum = 0;
    {
        Sampler sampler(words);
        for (int round = 0; round < 2 && reads; ++round)
            for (std::size_t i = 0; i < pages_count; ++i) sum += words[i * words_of_page];
        sampler.look();
        if (reads) {
            EXPECT_LE(static_cast<double>(sampler.most_cached), 1.01 * bound);
            EXPECT_GE(sampler.most_cached, bound / 2);
            // Page words, and rings between the processes, take some too.
            EXPECT_LE(sampler.most_bytes, 2 * bound + 512 * 1024);
        }
    }
    if (reads) {
        EXPECT_EQ(sum, pages_count * (pages_count - 1));
        EXPECT_GE(stats().pages_evicted, 2 * pages_count - 2 * bound_pages);
        EXPECT_EQ(stats().cache_bytes, bound);
        EXPECT_EQ(stats().pages_evicted_sent, 0U) << "nothing was written";
    } else if (!has_several_nodes()) {
        EXPECT_EQ(stats().pages_evicted + stats().bytes_cached + stats().cache_bytes, 0U);
    }
    barrier();
}

TEST_F(DsmCacheTest, ranks_of_a_node_that_read_different_pages_keep_it_together) {
    if (maps_whole_blocks()) GTEST_SKIP() << "ranks map whole blocks, so several map each page";
    const std::uint64_t* const words = numbered_pages();
    {
        Sampler sampler(words);
        const auto own = static_cast<std::size_t>(rank_ % 2);
        for (int round = 0; round < 2; ++round)
            for (std::size_t i = own; i < pages_count; i += 2)
                ASSERT_EQ(words[i * words_of_page], i);
        sampler.look();
        // A rank cannot drop the copies of the other one.
        EXPECT_LE(sampler.most_cached, bound + 2 * 24 * page);
    }
    barrier();
}

TEST_F(DsmCacheTest, written_pages_reach_their_homes_before_they_are_dropped) {
    std::uint64_t* const words = numbered_pages();
    const auto procs = static_cast<std::size_t>(procs_);
    const auto own = static_cast<std::size_t>(rank_);
    for (std::size_t round = 1; round <= 2; ++round) {
        // Each rank writes its own word of each of its pages, and of pages that others write too.
        for (std::size_t i = 0; i < pages_count; ++i) {
            if (i % procs == own || i % 8 == 0)
                words[i * words_of_page + 1 + own] = round * 1000 + i;
        }
        barrier();
        for (std::size_t i = 0; i < pages_count; ++i) {
            for (std::size_t rank = 0; rank < procs; ++rank) {
                const bool is_written = i % procs == rank || i % 8 == 0;
                ASSERT_EQ(words[i * words_of_page + 1 + rank], is_written ? round * 1000 + i : 0)
                    << "page " << i << " rank " << rank << " round " << round;
            }
        }
        barrier();
    }
    if (!is_at_home()) {
        // With whole blocks both ranks of a node may map each page.
        if (!maps_whole_blocks()) {
            EXPECT_GT(stats().pages_evicted_sent, 0U);
        }
        EXPECT_GE(stats().pages_sent, stats().pages_evicted_sent);
        EXPECT_GE(stats().bytes_sent, stats().bytes_evicted_sent);
    }
}

TEST_F(DsmCacheTest, two_threads_of_each_rank_evict_pages_of_each_other) {
    auto* const words = numbered_pages();
    constexpr std::size_t threads = 2;
    const std::size_t lanes = static_cast<std::size_t>(procs_) * threads;
    for (std::size_t round = 1; round <= 3; ++round) {
        const auto run = [&](std::size_t thread) {
            const std::size_t lane = static_cast<std::size_t>(rank_) * threads + thread;
            Random random(round * lanes + lane);
            for (int i = 0; i < 600; ++i) {
                const std::size_t at = random.below(pages_count);
                std::uint64_t& word = words[at * words_of_page + 1 + lane];
                word += at;
                if (words[at * words_of_page] != at) ADD_FAILURE() << "page " << at;
            }
        };
        std::thread other(run, 1);
        run(0);
        other.join();
        barrier();
    }
    // Each lane's words have the sum of what it added.
    std::vector<std::uint64_t> expected(pages_count);
    const std::size_t lane = (static_cast<std::size_t>(rank_) * threads + threads) % lanes;
    for (std::size_t round = 1; round <= 3; ++round) {
        Random random(round * lanes + lane);
        for (int i = 0; i < 600; ++i) {
            const std::size_t at = random.below(pages_count);
            expected[at] += at;
        }
    }
    for (std::size_t i = 0; i < pages_count; ++i)
        ASSERT_EQ(words[i * words_of_page + 1 + lane], expected[i]) << "page " << i;
    barrier();
}

TEST_F(DsmCacheTest, pages_that_several_ranks_read_go_at_the_barrier) {
    const std::uint64_t* const words = numbered_pages();
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < pages_count; ++i) sum += words[i * words_of_page];
    EXPECT_EQ(sum, pages_count * (pages_count - 1) / 2);
    expect_bound_behind_barrier();
    for (std::size_t i = 0; i < pages_count; ++i) ASSERT_EQ(words[i * words_of_page], i);
    barrier();
}

TEST_F(DsmCacheTest, pages_in_use_by_commands_stay_until_the_barrier) {
    auto* const words = numbered_pages();
    const acp_ga_t scratch = acp_query_starter_ga(rank_);
    auto* const starter = static_cast<std::uint64_t*>(acp_query_address(scratch));
    starter[0] = 4711 + static_cast<std::uint64_t>(rank_);
    const auto own = static_cast<std::size_t>(rank_);
    constexpr std::size_t lent = 20;
    const auto lent_word = [&](std::size_t i) {
        return &words[(i * 7 + own) * words_of_page + 9 + own];
    };
    for (std::size_t i = 0; i < lent; ++i)
        acp_complete(acp_get(lent_word(i), scratch, 8, ACP_HANDLE_NULL));
    for (std::size_t i = pages_count; i-- > 0;) ASSERT_EQ(words[i * words_of_page], i);
    for (std::size_t i = 0; i < lent; ++i) EXPECT_EQ(*lent_word(i), starter[0]);
    barrier();
    for (std::size_t i = 0; i < lent; ++i) EXPECT_EQ(*lent_word(i), starter[0]);
    // Each rank reads those of the next one.
    const std::size_t next = (own + 1) % static_cast<std::size_t>(procs_);
    for (std::size_t i = 0; i < lent; ++i)
        EXPECT_EQ(words[(i * 7 + next) * words_of_page + 9 + next], 4711 + next);
    barrier();
}

TEST_F(DsmCacheTest, a_prefetch_of_more_than_the_bound_keeps_it) {
    const std::uint64_t* const words = numbered_pages();
    const bool reads = is_reader();
    if (reads) {
        Sampler sampler(words);
        for (int round = 0; round < 3; ++round) {
            ASSERT_EQ(acp_prefetch_dsm(words, array_bytes), 0) << acp_error_message();
            const std::uint64_t faults = stats().faults;
            for (std::size_t i = 0; i < bound_pages / 2; ++i)
                ASSERT_EQ(words[i * words_of_page], i);
            EXPECT_EQ(stats().faults, faults) << "half of the bound is prefetched";
            for (std::size_t i = 0; i < pages_count; ++i) ASSERT_EQ(words[i * words_of_page], i);
        }
        sampler.look();
        EXPECT_LE(static_cast<double>(sampler.most_cached), 1.01 * bound);
    }
    barrier();
}

TEST_F(DsmCacheTest, a_bound_of_a_byte_lets_every_access_end) {
    auto* const words = numbered_pages();
    ASSERT_EQ(acp_set_cache_dsm(1), 0) << acp_error_message();
    if (has_several_nodes()) {
        EXPECT_EQ(stats().cache_bytes, 64 * page);
    }
    auto* const bytes = reinterpret_cast<char*>(words);
    const auto own = static_cast<std::size_t>(rank_);
    std::vector<char> copy(3 * page);
    for (std::size_t i = 0; i + 3 < pages_count; i += 5) {
        // Across the end of a page, and between pages far from each other.
        char* const target = bytes + (i + 1) * page - 4 - 8 * own;
        const std::uint64_t value = i + own;
        std::memcpy(target, &value, 4);
        std::memcpy(copy.data(), bytes + ((i * 37) % (pages_count - 3)) * page, 3 * page);
        std::uint64_t number = 0;
        std::memcpy(&number, copy.data(), 8);
        ASSERT_EQ(number, (i * 37) % (pages_count - 3));
    }
    barrier();
    for (std::size_t i = 0; i + 3 < pages_count; i += 5) {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes + (i + 1) * page - 4 - 8 * own, 4);
        ASSERT_EQ(value, i + own);
    }
    barrier();
}

TEST_F(DsmCacheTest, the_bound_changes_at_any_time) {
    const std::uint64_t* const words = numbered_pages();
    const auto read_all = [&] {
        for (std::size_t i = 0; i < pages_count; ++i) ASSERT_EQ(words[i * words_of_page], i);
    };
    EXPECT_EQ(acp_set_cache_dsm(0), 0);
    sync_ranks();
    read_all();
    if (!is_at_home()) {
        EXPECT_EQ(stats().bytes_cached, array_bytes);
        EXPECT_EQ(stats().cache_bytes, 0U);
        EXPECT_EQ(stats().pages_evicted, 0U);
    }
    barrier();
    EXPECT_EQ(acp_set_cache_dsm(bound), 0);
    expect_bound_behind_barrier();
    read_all();
    expect_bound_behind_barrier();
}

TEST_F(DsmCacheTest, pages_whose_home_moved_here_do_not_count) {
    const auto procs = static_cast<std::size_t>(procs_);
    const auto own = static_cast<std::size_t>(rank_);
    auto* const words = static_cast<std::uint64_t*>(acp_alloc_dsm(array_bytes));
    ASSERT_NE(words, nullptr) << acp_error_message();
    // Homes are blocks; in the rounds the ranks write parts of others, which move to them.
    for (std::size_t round = 0; round < 6; ++round) {
        const std::size_t part = pages_count / procs;
        const std::size_t first = (own + round / 3 + 1) % procs * part;
        for (std::size_t i = first; i < first + part; ++i) {
            std::uint64_t& word = words[i * words_of_page];
            ASSERT_EQ(word, round * i);
            word += i;
        }
        expect_bound_behind_barrier();
    }
    for (std::size_t i = 0; i < pages_count / procs * procs; ++i)
        ASSERT_EQ(words[i * words_of_page], 6 * i);
    barrier();
}

}  // namespace
}  // namespace acp::test
