// SPDX-License-Identifier: BSD-3-Clause
// Locks with ranges of shared pages that are too long to travel with them: each holder sees what the
// ones before it wrote, in ranges of several MiB, in two ranges of one page, beside bytes that barriers
// send; by pointers and by calls, across barriers, after evictions, hints and fences; for all shared
// pages at once. Nodes renew no page that did not change.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>

#include "conformance/dsm_fixture.hpp"
#include "support/random.hpp"

namespace acp::test {
namespace {

constexpr std::size_t words_of_page = page / 8;

class DsmLongLocksTest : public WithLocks<RankedTest> {
protected:
    void SetUp() override {
        RankedTest::SetUp();
        if (is_refused_here()) GTEST_SKIP() << acp_error_message();
        ASSERT_EQ(acp_init_dsm(window_bytes), 0) << acp_error_message();
        area_ = static_cast<std::uint64_t*>(acp_alloc_dsm(area_bytes));
        ASSERT_NE(area_, nullptr) << acp_error_message();
    }

    void TearDown() override {
        if (!is_refused_here()) {
            EXPECT_EQ(acp_finalize_dsm(), 0) << acp_error_message();
        }
        RankedTest::TearDown();
    }

    static void barrier() { ASSERT_EQ(acp_barrier_dsm(), 0) << acp_error_message(); }

    static void take(acp_lock_t lock) { ASSERT_EQ(acp_lock(lock), 0) << acp_error_message(); }

    static void leave(acp_lock_t lock) { ASSERT_EQ(acp_unlock(lock), 0) << acp_error_message(); }

    static std::uint64_t fetched_or_sent() {
        acp_stats_dsm_t now;
        EXPECT_EQ(acp_query_stats_dsm(&now, sizeof now), 0) << acp_error_message();
        return now.pages_fetched + now.pages_sent;
    }

    static constexpr std::size_t area_pages = 700;
    static constexpr std::size_t area_bytes = area_pages * page;
    static constexpr std::size_t window_bytes = area_bytes + 64 * page;
    std::uint64_t* area_ = nullptr;
};

// The first words of a range say how often each of its pages was changed; the words of a page follow from
// that number.
class PagesWithVersions {
public:
    //   first  of an allocation of zeros, at the begin of a page; pages  1 .. words_of_page
    PagesWithVersions(std::uint64_t* first, std::size_t pages) : first_(first), pages_(pages) {}

    [[nodiscard]] std::size_t bytes() const { return (1 + pages_) * page; }

    // By the holder of the lock.
    void check(std::size_t of) const {
        const std::uint64_t version = first_[of];
        const std::uint64_t* const words = words_of(of);
        for (std::size_t i = 0; i < words_of_page; i += step) {
            if (words[i] == value(version, of, i)) continue;
            ADD_FAILURE() << "page " << of << ", word " << i << " of version " << version << " is "
                          << words[i];
            return;
        }
    }

    void change(std::size_t of) const {
        const std::uint64_t version = ++first_[of];
        for (std::size_t i = 0; i < words_of_page; i += step)
            words_of(of)[i] = value(version, of, i);
    }

    [[nodiscard]] std::uint64_t changes() const {
        std::uint64_t sum = 0;
        for (std::size_t of = 0; of < pages_; ++of) {
            check(of);
            sum += first_[of];
        }
        return sum;
    }

    // Critical sections: each checks and changes some pages, or reads alone. Returns the number of changes.
    std::uint64_t work(acp_lock_t lock, std::uint64_t seed, int sections) const {
        Random random(seed);
        std::uint64_t count = 0;
        for (int section = 0; section < sections; ++section) {
            EXPECT_EQ(acp_lock(lock), 0) << acp_error_message();
            for (int i = 0; i < 6; ++i) check(random.below(pages_));
            for (std::uint64_t i = random.below(5); i != 0; --i, ++count)
                change(random.below(pages_));
            EXPECT_EQ(acp_unlock(lock), 0) << acp_error_message();
        }
        return count;
    }

private:
    static constexpr std::size_t step = 37;

    [[nodiscard]] std::uint64_t* words_of(std::size_t of) const {
        return first_ + (1 + of) * words_of_page;
    }

    [[nodiscard]] static std::uint64_t value(std::uint64_t version, std::size_t of, std::size_t i) {
        return version == 0 ? 0 : version << 32 | of << 16 | i;
    }

    std::uint64_t* first_;
    std::size_t pages_;
};

TEST_F(DsmLongLocksTest, each_holder_sees_what_all_holders_before_it_wrote_in_some_mib) {
    allow_seconds(180);
    const PagesWithVersions all(area_, 500);
    const acp_lock_t lock = make_lock(procs_ - 1);
    bind(lock, area_, all.bytes());
    std::uint64_t expected = 0;
    for (std::uint64_t round = 0; round < 3; ++round) {
        const std::uint64_t seed = round * 1000 + static_cast<std::uint64_t>(rank_);
        std::uint64_t others = 0;
        std::thread other([&] { others = all.work(lock, seed + 500, 15); });
        const std::uint64_t own = all.work(lock, seed, 15);
        other.join();
        for (const std::uint64_t count : exchange(own + others)) expected += count;
        barrier();
        EXPECT_EQ(all.changes(), expected) << "after a barrier";
        barrier();
    }
    end(lock, procs_ - 1);
    EXPECT_EQ(all.changes(), expected);
}

TEST_F(DsmLongLocksTest, evictions_hints_and_fences_lose_no_write_of_a_holder) {
    allow_seconds(180);
    const PagesWithVersions all(area_, 300);
    const acp_lock_t lock = make_lock(0);
    bind(lock, area_, all.bytes());
    ASSERT_EQ(acp_set_cache_dsm(64 * page), 0) << acp_error_message();
    Random random(static_cast<std::uint64_t>(rank_) + 7);
    std::uint64_t own = 0;
    for (int section = 0; section < 20; ++section) {
        take(lock);
        for (int i = 0; i < 40; ++i) {
            const std::size_t of = random.below(300);
            all.check(of);
            if (random.chance(50)) {
                all.change(of);
                ++own;
            }
            if (random.chance(3)) {
                ASSERT_EQ(acp_flush_dsm(area_, all.bytes()), 0) << acp_error_message();
            }
            if (random.chance(2)) {
                ASSERT_EQ(acp_fence_dsm(area_, all.bytes()), 0) << acp_error_message();
            }
        }
        leave(lock);
        if (random.chance(20)) {
            ASSERT_EQ(acp_fence_dsm(area_, all.bytes()), 0) << acp_error_message();
        }
    }
    std::uint64_t expected = 0;
    for (const std::uint64_t count : exchange(own)) expected += count;
    take(lock);
    EXPECT_EQ(all.changes(), expected);
    leave(lock);
    ASSERT_EQ(acp_set_cache_dsm(0), 0) << acp_error_message();
    end(lock, 0);
    EXPECT_EQ(all.changes(), expected);
}

// Three ranges in four pages; all other words belong to the ranks, and barriers send them.
TEST_F(DsmLongLocksTest, ranges_of_several_locks_and_bytes_of_none_share_pages) {
    allow_seconds(180);
    constexpr std::size_t count = 3;
    const std::array<std::size_t, count> begin{10, 200, 900};
    const std::array<std::size_t, count> words{160, 700, 400};
    std::array<acp_lock_t, count> locks{};
    for (std::size_t i = 0; i < count; ++i) {
        locks[i] = make_lock(static_cast<int>(i) % procs_);
        bind(locks[i], area_ + begin[i], words[i] * 8);
    }
    const std::array<std::size_t, 4> own{0, 172, 180, 1320};
    constexpr int sections = 12;
    for (std::uint64_t round = 1; round <= 4; ++round) {
        const auto work = [&](std::uint64_t seed) {
            Random random(seed);
            for (std::size_t i = 0; i < sections * count; ++i) {
                const std::size_t of = i % count;
                std::uint64_t* const first = area_ + begin[of];
                take(locks[of]);
                for (std::size_t k = 1; k < words[of]; ++k)
                    if (first[k] != first[0] + k * (first[0] != 0 ? 1 : 0)) {
                        ADD_FAILURE() << "lock " << of << ", word " << k << ": " << first[k];
                        break;
                    }
                ++first[0];
                for (std::size_t k = 1; k < words[of]; ++k) first[k] = first[0] + k;
                leave(locks[of]);
            }
        };
        std::thread other([&] { work(round * 2); });
        for (const std::size_t at : own)
            if (rank_ < 8) area_[at + static_cast<std::size_t>(rank_)] = round;
        work(round * 2 + 1);
        other.join();
        barrier();
        for (std::size_t of = 0; of < count; ++of) {
            EXPECT_EQ(area_[begin[of]], round * 2 * sections * static_cast<std::uint64_t>(procs_));
            EXPECT_EQ(area_[begin[of] + words[of] - 1], area_[begin[of]] + words[of] - 1);
        }
        for (const std::size_t at : own)
            for (int rank = 0; rank < std::min(procs_, 8); ++rank)
                EXPECT_EQ(area_[at + static_cast<std::size_t>(rank)], round) << at;
        barrier();
    }
    for (std::size_t i = 0; i < count; ++i) end(locks[i], static_cast<int>(i) % procs_);
}

TEST_F(DsmLongLocksTest, a_lock_is_held_across_barriers) {
    std::uint64_t* const first = area_ + 3;
    constexpr std::size_t count = 3000;
    const acp_lock_t lock = make_lock(0);
    bind(lock, first, count * 8);
    for (int holder = 0; holder < procs_; ++holder) {
        const auto before = static_cast<std::uint64_t>(holder) * 11;
        if (rank_ == holder) {
            take(lock);
            for (std::size_t i = 0; i < count; i += 100) {
                EXPECT_EQ(first[i], before) << i;
                first[i] += 10;
            }
        }
        for (std::uint64_t i = 0; i < 3; ++i) {
            // Words before and behind the range, in its pages.
            if (rank_ < 3) area_[rank_] = before + i;
            area_[3 + count + static_cast<std::size_t>(rank_)] = before + i;
            barrier();
        }
        if (rank_ == holder) {
            for (std::size_t i = 0; i < count; i += 100) {
                EXPECT_EQ(first[i], before + 10) << i;
                if (i % 200 == 0) first[i] += 1;
            }
            for (std::size_t i = 100; i < count; i += 200) first[i] += 1;
            leave(lock);
        }
        take(lock);
        if (first[0] != before) {
            for (std::size_t i = 0; i < count; i += 100) EXPECT_EQ(first[i], before + 11) << i;
        }
        leave(lock);
        barrier();
        for (std::size_t i = 0; i < count; i += 100) EXPECT_EQ(first[i], before + 11) << i;
        barrier();
    }
    end(lock, 0);
}

TEST_F(DsmLongLocksTest, all_shared_pages_are_bound_with_those_that_are_allocated_later) {
    const acp_lock_t lock = make_lock(0);
    bind(lock, nullptr, ACP_BIND_ALL);
    auto* const later = static_cast<std::uint64_t*>(acp_alloc_dsm(8 * page));
    ASSERT_NE(later, nullptr) << acp_error_message();
    const acp_lock_t other = make_lock(0);
    EXPECT_EQ(acp_bind_dsm(other, area_, 8), -1);
    EXPECT_EQ(acp_errno(), ACP_ERR_ARGUMENT) << acp_error_message();
    acp_clear_errno();
    sync_ranks();
    for (std::uint64_t round = 0; round < 20; ++round) {
        take(lock);
        EXPECT_EQ(later[5 * words_of_page], area_[600 * words_of_page + 9]);
        ++later[5 * words_of_page];
        ++area_[600 * words_of_page + 9];
        leave(lock);
    }
    barrier();
    EXPECT_EQ(later[5 * words_of_page], 20U * static_cast<std::uint64_t>(procs_));
    barrier();
    ASSERT_EQ(acp_free_dsm(later), 0) << acp_error_message();
    take(lock);
    area_[rank_] = 4;
    leave(lock);
    end(lock, 0);
    for (int rank = 0; rank < procs_; ++rank) EXPECT_EQ(area_[rank], 4U);
    barrier();
    if (rank_ == 0) {
        EXPECT_EQ(acp_free_lock(other), 0) << acp_error_message();
    }
}

// The bytes that acp_get writes are seen by no tracker.
TEST_F(DsmLongLocksTest, bytes_that_calls_write_under_the_lock_reach_the_next_holder) {
    const acp_lock_t lock = make_lock(0);
    bind(lock, area_, 100 * page);
    const acp_ga_t own = acp_query_starter_ga(rank_);
    for (std::uint64_t round = 0; round < 6; ++round) {
        take(lock);
        std::uint64_t* const word = area_ + 70 * words_of_page + 1;
        const std::uint64_t next = *word + 1;
        acp_complete(acp_put(own, &next, 8, ACP_HANDLE_NULL));
        acp_complete(acp_get(word, own, 8, ACP_HANDLE_NULL));
        EXPECT_EQ(*word, next);
        leave(lock);
    }
    take(lock);
    const std::uint64_t sum = area_[70 * words_of_page + 1];
    leave(lock);
    barrier();
    EXPECT_EQ(area_[70 * words_of_page + 1], 6U * static_cast<std::uint64_t>(procs_));
    EXPECT_LE(sum, 6U * static_cast<std::uint64_t>(procs_));
    barrier();
    end(lock, 0);
}

TEST_F(DsmLongLocksTest, ranges_become_longer_and_shorter_and_keep_their_bytes) {
    const acp_lock_t lock = make_lock(procs_ - 1);
    std::uint64_t expected = 0;
    for (const std::size_t bytes : {std::size_t{8}, ACP_BIND_BYTES_MAX + std::size_t{1}, 50 * page,
                                    std::size_t{ACP_BIND_BYTES_MAX}, 3 * page, std::size_t{0}}) {
        bind(lock, area_ + 2, bytes);
        if (bytes == 0) break;
        for (int i = 0; i < 5; ++i) {
            take(lock);
            ++area_[2];
            leave(lock);
        }
        expected += 5U * static_cast<std::uint64_t>(procs_);
        barrier();
        EXPECT_EQ(area_[2], expected) << bytes;
        barrier();
    }
    EXPECT_EQ(area_[2], expected);
    barrier();
    if (rank_ == 0) area_[2] = 1;
    barrier();
    EXPECT_EQ(area_[2], 1U);
    sync_ranks();
    if (rank_ == procs_ - 1) {
        EXPECT_EQ(acp_free_lock(lock), 0) << acp_error_message();
    }
}

TEST_F(DsmLongLocksTest, a_section_that_changes_nothing_moves_no_page) {
    const PagesWithVersions all(area_, 200);
    const acp_lock_t lock = make_lock(0);
    bind(lock, area_, all.bytes());
    ASSERT_EQ(acp_set_cache_dsm(0), 0) << acp_error_message();
    (void)all.work(lock, static_cast<std::uint64_t>(rank_), 5);
    barrier();
    // One rank at a time, so that no other one changes the counters of its node's pages.
    for (int reader = 0; reader < procs_; ++reader) {
        if (rank_ == reader) {
            take(lock);
            (void)all.changes();
            leave(lock);
            const std::uint64_t before = fetched_or_sent();
            for (int i = 0; i < 10; ++i) {
                take(lock);
                (void)all.changes();
                leave(lock);
            }
            EXPECT_EQ(fetched_or_sent(), before);
        }
        sync_ranks();
    }
    end(lock, 0);
}

// A fence by threads that hold no lock, also of bytes that travel.
TEST_F(DsmLongLocksTest, fences_and_hints_of_other_threads_leave_the_bytes_of_holders_alone) {
    allow_seconds(180);
    const PagesWithVersions all(area_, 40);
    std::uint64_t* const travelling = area_ + 41 * words_of_page + 100;
    const acp_lock_t lock = make_lock(0);
    const acp_lock_t other_lock = make_lock(procs_ - 1);
    bind(lock, area_, all.bytes() + 64);
    bind(other_lock, travelling, 80);
    std::atomic<bool> is_done{false};
    std::thread fencing([&] {
        Random random(static_cast<std::uint64_t>(rank_) + 3);
        while (!is_done.load()) {
            const std::size_t first = random.below(41);
            std::uint64_t* const from = area_ + first * words_of_page;
            const std::size_t bytes = random.between(1, 42 - first) * page;
            const bool is_hint = random.chance(50);
            EXPECT_EQ(is_hint ? acp_flush_dsm(from, bytes) : acp_fence_dsm(from, bytes), 0)
                << acp_error_message();
            std::this_thread::yield();
        }
    });
    std::uint64_t own = 0;
    for (std::uint64_t i = 0; i < 15; ++i) {
        own += all.work(lock, i * 64 + static_cast<std::uint64_t>(rank_), 2);
        take(other_lock);
        for (std::size_t k = 1; k < 10; ++k) EXPECT_EQ(travelling[k], travelling[0]);
        for (std::size_t k = 0; k < 10; ++k) ++travelling[k];
        leave(other_lock);
    }
    is_done.store(true);
    fencing.join();
    std::uint64_t expected = 0;
    for (const std::uint64_t count : exchange(own)) expected += count;
    barrier();
    EXPECT_EQ(all.changes(), expected);
    EXPECT_EQ(travelling[9], 15U * static_cast<std::uint64_t>(procs_));
    barrier();
    end(lock, 0);
    end(other_lock, procs_ - 1);
}

}  // namespace
}  // namespace acp::test
