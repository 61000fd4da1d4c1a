// SPDX-License-Identifier: BSD-3-Clause
// What was unmapped or moved is told before anything can be mapped at its place; what was not is not told.
#include "os/unmap_watch.hpp"

#include <atomic>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <utility>
#include <vector>

#include "os/mapping.hpp"

namespace acp::os {
namespace {

class UnmapWatchTest : public ::testing::Test {
protected:
    void SetUp() override {
        auto created = UnmapWatch::create();
        if (!created.is_ok()) GTEST_SKIP() << created.failure().message();
        watch_ = std::move(created).value();
    }

    MemoryRange map(std::uint64_t pages) {
        void* const mapped = mmap(nullptr, pages * page_bytes(), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(mapped, MAP_FAILED);
        const auto start = reinterpret_cast<std::uint64_t>(mapped);
        return {start, start + pages * page_bytes()};
    }

    static void* place(std::uint64_t address) { return reinterpret_cast<void*>(address); }

    static void unmap(MemoryRange range) {
        EXPECT_EQ(munmap(place(range.start), range.end - range.start), 0);
    }

    // Whether a part of the range is told now.
    bool is_told(MemoryRange range) {
        bool is_part = false;
        is_complete_ = watch_->take([&](MemoryRange gone) {
            is_part = is_part || (gone.start < range.end && range.start < gone.end);
        });
        return is_part;
    }

    std::unique_ptr<UnmapWatch> watch_;
    bool is_complete_ = true;
};

TEST_F(UnmapWatchTest, tells_what_was_unmapped_at_once) {
    for (int round = 0; round < 500; ++round) {
        const MemoryRange range = map(4);
        ASSERT_TRUE(watch_->watch(range));
        EXPECT_FALSE(is_told(range));
        unmap(range);
        EXPECT_TRUE(is_told(range)) << "round " << round;
        EXPECT_TRUE(is_complete_);
        EXPECT_FALSE(is_told(range)) << "once";
    }
}

TEST_F(UnmapWatchTest, tells_of_a_part_of_a_move_and_of_a_mapping_over_it) {
    const MemoryRange range = map(4);
    ASSERT_TRUE(watch_->watch(range));
    const std::uint64_t page = page_bytes();
    unmap({range.start + page, range.start + 2 * page});
    EXPECT_TRUE(is_told({range.start + page, range.start + 2 * page}));
    ASSERT_EQ(
        mmap(place(range.start), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
        place(range.start));
    EXPECT_TRUE(is_told({range.start, range.start + page}));
    const MemoryRange other = map(2);
    ASSERT_EQ(mremap(place(range.start + 2 * page), 2 * page, 2 * page,
                     MREMAP_MAYMOVE | MREMAP_FIXED, place(other.start)),
              place(other.start));
    EXPECT_TRUE(is_told({range.start + 2 * page, range.end}));
    unmap(other);
    unmap({range.start, range.start + page});
}

TEST_F(UnmapWatchTest, does_not_tell_of_what_is_used_or_not_watched) {
    const MemoryRange range = map(4);
    const MemoryRange other = map(1);
    ASSERT_TRUE(watch_->watch(range));
    *static_cast<char*>(place(range.start)) = 1;
    EXPECT_EQ(madvise(place(range.start), 4 * page_bytes(), MADV_DONTNEED), 0);
    EXPECT_EQ(*static_cast<char*>(place(range.start)), 0) << "a page that is fetched anew";
    unmap(other);
    EXPECT_FALSE(is_told({0, ~std::uint64_t{0}}));
    watch_->unwatch(range);
    unmap(range);
    EXPECT_FALSE(is_told({0, ~std::uint64_t{0}}));
}

TEST_F(UnmapWatchTest, says_when_there_was_more_than_it_can_tell) {
    for (const std::uint64_t count : {UnmapWatch::untold_max, UnmapWatch::untold_max + 1}) {
        const MemoryRange range = map(2 * count);
        ASSERT_TRUE(watch_->watch(range));
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t start = range.start + 2 * i * page_bytes();
            unmap({start, start + page_bytes()});
        }
        EXPECT_TRUE(is_told(range));
        EXPECT_EQ(is_complete_, count == UnmapWatch::untold_max);
        EXPECT_FALSE(is_told(range));
        EXPECT_TRUE(is_complete_);
        watch_->unwatch(range);
        unmap(range);
        (void)is_told(range);
    }
}

TEST_F(UnmapWatchTest, other_threads_unmap_meanwhile_and_it_may_end) {
    std::atomic<bool> is_over{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!is_over.load()) {
                const MemoryRange range = map(2);
                *static_cast<char*>(place(range.start)) = 1;
                unmap(range);
            }
        });
    }
    // Whatever the others map lies around what is watched.
    for (int round = 0; round < 200; ++round) {
        const MemoryRange range = map(2);
        ASSERT_TRUE(watch_->watch(range));
        unmap(range);
        EXPECT_TRUE(is_told(range));
    }
    const MemoryRange last = map(2);
    ASSERT_TRUE(watch_->watch(last));
    watch_.reset();
    unmap(last);
    is_over.store(true);
    for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acp::os
