// SPDX-License-Identifier: BSD-3-Clause
// Bytes of shared pages that travel with locks: counters whose totals are exact without a barrier, on
// one node and on several, by two threads of each rank; ranges across pages; barriers before, after
// and within critical sections; migration, frees and refusals.
#include <array>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "conformance/dsm_fixture.hpp"

namespace acp::test {
namespace {

class DsmLocksTest : public WithLocks<DsmTest> {
protected:
    void SetUp() override {
        DsmTest::SetUp();
        if (!IsSkipped()) area_ = words(area_bytes);
    }

    static void add_one(acp_lock_t lock, std::uint64_t* first, std::size_t count) {
        ASSERT_EQ(acp_lock(lock), 0) << acp_error_message();
        for (std::size_t i = 0; i < count; ++i) {
            EXPECT_EQ(first[i], first[0] + i);
        }
        for (std::size_t i = 0; i < count; ++i) ++first[i];
        ASSERT_EQ(acp_unlock(lock), 0) << acp_error_message();
    }

    static void number(std::uint64_t* first, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) first[i] = i;
    }

    static void barrier() { ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message(); }

    static constexpr std::size_t area_bytes = 8 * page;
    std::uint64_t* area_ = nullptr;
};

TEST_F(DsmLocksTest, each_holder_sees_the_bytes_of_the_last_one) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{9}, std::size_t{124}}) {
        for (int home = 0; home < procs_; ++home) {
            std::uint64_t* const first = area_ + 100;
            if (rank_ == 0) number(first, count);
            const acp_lock_t lock = make_lock(home);
            bind(lock, first, count * 8);
            for (int i = 0; i < 30; ++i) add_one(lock, first, count);
            barrier();
            for (std::size_t i = 0; i < count; ++i)
                EXPECT_EQ(first[i], static_cast<std::uint64_t>(procs_) * 30 + i)
                    << "after a barrier";
            barrier();
            end(lock, home);
        }
    }
}

TEST_F(DsmLocksTest, two_threads_of_each_rank_add_to_counters_of_several_locks_and_barriers) {
    constexpr std::size_t locks_count = 5;
    constexpr int rounds = 6;
    constexpr int adds = 12;
    std::array<acp_lock_t, locks_count> locks{};
    std::array<std::uint64_t*, locks_count> first{};
    for (std::size_t i = 0; i < locks_count; ++i) {
        // Some share a page, and one crosses pages.
        first[i] = area_ + (i == 3 ? page / 8 - 2 : i * 10 + (i == 4 ? page / 8 : 0));
        if (rank_ == 0) number(first[i], 4);
        locks[i] = make_lock(static_cast<int>(i) % procs_);
        bind(locks[i], first[i], 32);
    }
    for (int round = 1; round <= rounds; ++round) {
        const auto work = [&] {
            for (int i = 0; i < adds; ++i)
                for (std::size_t k = 0; k < locks_count; ++k) add_one(locks[k], first[k], 4);
        };
        std::thread other(work);
        work();
        other.join();
        // Bytes of the same pages that are bound to no lock.
        area_[200 + rank_] = static_cast<std::uint64_t>(round);
        barrier();
        const std::uint64_t total = static_cast<std::uint64_t>(procs_ * 2 * adds * round);
        for (std::size_t k = 0; k < locks_count; ++k)
            for (std::size_t i = 0; i < 4; ++i)
                EXPECT_EQ(first[k][i], total + i) << "lock " << k << ", round " << round;
        for (int rank = 0; rank < procs_; ++rank)
            EXPECT_EQ(area_[200 + rank], static_cast<std::uint64_t>(round)) << rank;
        barrier();
    }
    for (std::size_t i = 0; i < locks_count; ++i) end(locks[i], static_cast<int>(i) % procs_);
}

TEST_F(DsmLocksTest, a_lock_may_be_held_across_barriers) {
    std::uint64_t* const word = area_ + 7;
    const int home = procs_ - 1;
    const acp_lock_t lock = make_lock(home);
    bind(lock, word, 8);
    for (int holder = 0; holder < procs_; ++holder) {
        if (rank_ == holder) {
            ASSERT_EQ(acp_lock(lock), 0) << acp_error_message();
            EXPECT_EQ(*word, static_cast<std::uint64_t>(holder) * 11);
            *word += 10;
        }
        for (int i = 0; i < 3; ++i) {
            area_[50 + rank_] = static_cast<std::uint64_t>(i);  // others write the page
            barrier();
        }
        if (rank_ == holder) {
            EXPECT_EQ(*word, static_cast<std::uint64_t>(holder) * 11 + 10);
            *word += 1;
            ASSERT_EQ(acp_unlock(lock), 0) << acp_error_message();
        }
        barrier();
        EXPECT_EQ(*word, static_cast<std::uint64_t>(holder) * 11 + 11);
        barrier();
    }
    end(lock, home);
}

TEST_F(DsmLocksTest, a_release_reaches_all_ranks_by_a_barrier_whoever_wrote_the_page) {
    std::uint64_t* const word = area_ + 3;
    const acp_lock_t lock = make_lock(0);
    bind(lock, word, 8);
    std::uint64_t expected = 0;
    for (int round = 0; round < 4 * procs_; ++round) {
        // One rank alone, twice running, so that the home moves; then the next one.
        if (rank_ == round / 3 % procs_) add_one(lock, word, 1);
        ++expected;
        if (rank_ == (round + 1) % procs_) area_[64 + rank_] = expected;
        if (round % 5 == 4) {
            ASSERT_EQ(acp_set_home_dsm(area_, page, round % procs_), 0) << acp_error_message();
        } else {
            barrier();
        }
        EXPECT_EQ(*word, expected) << "round " << round;
        EXPECT_EQ(area_[64 + (round + 1) % procs_], expected);
        barrier();
    }
    end(lock, 0);
}

TEST_F(DsmLocksTest, bytes_that_are_no_longer_bound_are_those_of_the_page) {
    std::uint64_t* const word = area_ + 3;
    const acp_lock_t lock = make_lock(0);
    for (std::uint64_t round = 0; round < 3; ++round) {
        bind(lock, word, 16);
        add_one(lock, word, 1);
        bind(lock, nullptr, 0);
        const std::uint64_t before = (round + 1) * static_cast<std::uint64_t>(procs_) + round;
        EXPECT_EQ(*word, before) << round;
        barrier();
        const int writer = static_cast<int>(round + 1) % procs_;
        if (rank_ == writer) *word = before + 1;
        area_[40 + rank_] = round;
        barrier();
        EXPECT_EQ(*word, before + 1) << round;
        ASSERT_EQ(acp_lock(lock), 0) << acp_error_message();
        ASSERT_EQ(acp_unlock(lock), 0) << acp_error_message();
        barrier();
    }
    if (rank_ == 0) {
        EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    }
}

// One node alone released the lock, so it keeps its copy of the page, and then writes other bytes of it.
TEST_F(DsmLocksTest, bytes_that_are_no_longer_bound_are_not_sent_by_the_node_that_released_them) {
    std::uint64_t* const word = area_ + 3;
    const acp_lock_t lock = make_lock(0);
    for (int releasing = 0; releasing < procs_; ++releasing) {
        const int writer = (releasing + 1) % procs_;
        if (rank_ == 0) *word = 1000;
        bind(lock, word, 8);
        if (rank_ == releasing) add_one(lock, word, 1);
        bind(lock, nullptr, 0);
        EXPECT_EQ(*word, 1001U);
        barrier();
        if (rank_ == writer) *word = 5;
        if (rank_ == releasing) area_[40] = static_cast<std::uint64_t>(releasing) + 1;
        barrier();
        EXPECT_EQ(*word, 5U) << "rank " << releasing << " released the lock";
        EXPECT_EQ(area_[40], static_cast<std::uint64_t>(releasing) + 1);
        barrier();
    }
    if (rank_ == 0) {
        EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    }
}

// The last rank has released the lock, and its barrier sends its writes of the page to the home, where
// rank 0 holds the lock now.
TEST_F(DsmLocksTest, a_barrier_of_a_former_holder_leaves_the_bytes_of_the_holder_at_the_home) {
    const int last = procs_ - 1;
    if (last == 0) return;
    std::uint64_t* const word = area_ + 3;
    const acp_lock_t lock = make_lock(0);
    ASSERT_EQ(acp_set_home_dsm(area_, page, 0), 0) << acp_error_message();
    volatile std::uint64_t* const flag =
        static_cast<std::uint64_t*>(acp_query_address(acp_query_starter_ga(rank_)));
    *flag = 0;
    bind(lock, word, 8);
    const auto notify = [](int rank) {
        const std::uint64_t done = 1;
        acp_complete(acp_put(acp_query_starter_ga(rank), &done, 8, ACP_HANDLE_NULL));
    };
    const auto await = [](volatile std::uint64_t* there) {
        while (*there == 0) std::this_thread::yield();
    };
    if (rank_ == last) {
        add_one(lock, word, 1);
        area_[50] = 7;  // bound to no lock
        notify(0);
        await(flag);
    }
    if (rank_ == 0) {
        await(flag);
        ASSERT_EQ(acp_lock(lock), 0) << acp_error_message();
        EXPECT_EQ(*word, 1U);
        *word = 100;
        notify(last);
        // Arrives with the other bytes that the last rank has written; on one node it is there.
        await(area_ + 50);
        EXPECT_EQ(*word, 100U);
        ASSERT_EQ(acp_unlock(lock), 0) << acp_error_message();
    }
    barrier();
    EXPECT_EQ(*word, 100U);
    barrier();
    end(lock, 0);
}

// The last rank, which alone takes the lock, keeps its copy of the page; the home is the node of rank 0.
TEST_F(DsmLocksTest, a_word_that_is_no_longer_bound_is_sent_by_none_but_its_writer) {
    auto* const words = static_cast<std::uint64_t*>(acp_alloc_home_dsm(page, ACP_HOME_RANK, 0));
    ASSERT_NE(words, nullptr) << acp_error_message();
    for (std::uint64_t round = 1; round <= 3; ++round) {
        const acp_lock_t lock = make_lock(0);
        bind(lock, words, 8);
        if (rank_ == procs_ - 1) {
            EXPECT_EQ(words[1], round - 1);
            add_one(lock, words, 1);
        }
        end(lock, 0);
        if (rank_ == 0) words[0] = 1000 * round;
        if (rank_ == procs_ - 1) words[1] = round;
        barrier();
        EXPECT_EQ(words[0], 1000 * round);
        EXPECT_EQ(words[1], round);
        barrier();
    }
}

TEST_F(DsmLocksTest, each_wrong_call_is_refused_on_all_ranks_and_changes_nothing) {
    const acp_lock_t lock = make_lock(0);
    const acp_lock_t other = make_lock(procs_ - 1);
    const auto refuses = [&](acp_lock_t bound, const void* address, std::size_t bytes, int code) {
        EXPECT_EQ(acp_bind_dsm(bound, address, bytes), -1);
        EXPECT_EQ(acp_errno(), code) << acp_error_message();
        acp_clear_errno();
        sync_ranks();
    };
    int local = 0;
    refuses(lock, &local, 4, ACP_ERR_ARGUMENT);
    refuses(lock, area_, 2 * window, ACP_ERR_ARGUMENT);
    refuses(lock, area_, ACP_BIND_ALL, ACP_ERR_ARGUMENT);
    refuses(lock, nullptr, window, ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_bind_dsm(lock, area_, window), -1);
    expect_error(ACP_ERR_ARGUMENT, {"acp_bind_dsm", "leaves the allocations"});
    sync_ranks();
    refuses({ACP_GA_NULL}, area_, 8, ACP_ERR_ADDRESS);
    refuses({lock.ga + 64}, area_, 8, ACP_ERR_STALE);
    bind(lock, area_, ACP_BIND_BYTES_MAX);
    refuses(other, area_ + 1, 8, ACP_ERR_ARGUMENT);
    EXPECT_EQ(acp_free_lock(lock), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
    EXPECT_EQ(acp_free_dsm(area_), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE) << acp_error_message();
    EXPECT_EQ(acp_unlock(lock), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_STATE);
    acp_clear_errno();
    sync_ranks();
    if (rank_ == procs_ - 1) {
        ASSERT_EQ(acp_lock(other), 0) << acp_error_message();
    }
    sync_ranks();
    refuses(other, area_ + 300, 8, ACP_ERR_STATE);
    if (rank_ == procs_ - 1) {
        ASSERT_EQ(acp_unlock(other), 0) << acp_error_message();
    }
    sync_ranks();
    bind(other, area_ + 300, 8);
    add_one(other, area_ + 300, 1);
    end(lock, 0);
    end(other, procs_ - 1);
}

TEST_F(DsmLocksTest, the_end_of_the_shared_pages_ends_what_is_bound) {
    const acp_lock_t lock = make_lock(0);
    bind(lock, area_, 8);
    add_one(lock, area_, 1);
    ASSERT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
    EXPECT_EQ(acp_lock(lock), 0) << acp_error_message();
    EXPECT_EQ(acp_unlock(lock), 0) << acp_error_message();
    sync_ranks();
    if (rank_ == 0) {
        EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    }
    ASSERT_EQ(acp_init_dsm(window), 0) << acp_error_message();
}

}  // namespace
}  // namespace acp::test
