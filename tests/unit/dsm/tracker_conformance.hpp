// SPDX-License-Identifier: BSD-3-Clause
// The conformance suite of trackers, with the fault service above them; a test program instantiates
// it for the kinds that the kernel has. Random accesses are compared with a model of the bytes; a write that a
// harvest misses is not flushed, so that the home differs from the model.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/child_process.hpp"
#include "support/effort.hpp"
#include "support/random.hpp"
#include "support/scoped_watchdog.hpp"
#include "tracked_scene.hpp"

namespace acp::dsm::test {

class TrackerConformance : public testing::TestWithParam<TrackerKind> {
protected:
    // With protect the pages of a block are written together.
    [[nodiscard]] static bool is_exact() { return GetParam() != TrackerKind::protect; }
};

TEST_P(TrackerConformance, fetches_pages_together_that_were_touched_before) {
    TrackedScene scene(GetParam(), 40);
    if (scene.tracker().maps_whole_blocks()) return;  // it fetches all pages of a block anyway
    const auto touch = [&](PageNumber page) {
        EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes));
    };
    const auto drop_all = [&] {
        for (PageNumber page = 0; page < scene.count(); ++page) scene.drop(page);
    };
    const auto are_mapped = [&](PageNumber first, PageNumber last) {
        for (PageNumber page = first; page <= last; ++page) {
            if (scene.mapped().state(page) == MappedState::absent) return false;
        }
        return true;
    };
    for (const PageNumber page : {5U, 7U, 4U, 6U}) touch(page);
    EXPECT_EQ(scene.faults(), 4U);
    // One page is touched from now on: the others come with it until their credit is taken.
    for (std::uint32_t i = 0; i < MappedPages<>::credit_max; ++i) {
        drop_all();
        touch(5);
        EXPECT_TRUE(are_mapped(4, 7)) << i;
        EXPECT_EQ(scene.mapped().state(3), MappedState::absent);
        EXPECT_EQ(scene.mapped().state(8), MappedState::absent);
        EXPECT_EQ(scene.faults(), 1U);
    }
    drop_all();
    touch(5);
    EXPECT_EQ(scene.mapped().state(4), MappedState::absent);
    EXPECT_EQ(scene.mapped().state(6), MappedState::absent);
    // A page that is touched for the first time comes alone.
    touch(6);
    drop_all();
    touch(8);
    EXPECT_EQ(scene.mapped().state(6), MappedState::absent);
    touch(5);
    EXPECT_TRUE(are_mapped(5, 6));
}

// The faults of a stream: three, or four, until it begins, and then one for each window.
TEST_P(TrackerConformance, maps_the_next_pages_of_a_stream_before_they_are_touched) {
    constexpr PageNumber units = 40;
    for (const std::int64_t stride : {1, -1, 3, -3}) {
        TrackedScene scene(GetParam(), 2048);
        const PageNumber unit = scene.tracker().maps_whole_blocks() ? Tracker::block_pages : 1;
        const auto step = static_cast<PageNumber>(stride) * unit;
        PageNumber page = stride < 0 ? scene.count() - unit : 0;
        for (PageNumber i = 0; i < units; ++i, page += step) {
            EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes)) << page;
            *scene.page(page) = 'w';
        }
        EXPECT_GT(scene.pages_ahead(), units * unit / 2) << stride;
        const PageList written = scene.harvest();
        page = stride < 0 ? scene.count() - unit : 0;
        for (PageNumber i = 0; i < units; ++i, page += step) {
            EXPECT_TRUE(written.has(page)) << stride << ' ' << page;
            EXPECT_EQ(*scene.plain(page), 'w');
        }
        if (GetParam() == TrackerKind::async) {
            EXPECT_LE(scene.faults(), 12U) << stride;
        }
    }
}

TEST_P(TrackerConformance, takes_one_fault_for_a_write_to_an_absent_page) {
    TrackedScene scene(GetParam(), 40);
    *scene.page(5) = 'w';
    EXPECT_EQ(scene.faults(), 1U);
    EXPECT_TRUE(scene.harvest().has(5));
}

// A fault there opens the next window before the stream has used this one.
TEST_P(TrackerConformance, leaves_one_page_of_a_long_window_to_a_fault) {
    TrackedScene scene(GetParam(), 2048);
    const PageNumber unit = scene.tracker().maps_whole_blocks() ? Tracker::block_pages : 1;
    bool has_gap = false;
    for (PageNumber page = 0; page < 40 * unit; page += unit) {
        EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes)) << page;
        PageNumber end = scene.count();
        while (scene.mapped().state(end - 1) == MappedState::absent) --end;
        for (PageNumber at = page; at < end; ++at)
            has_gap = has_gap || scene.mapped().state(at) == MappedState::absent;
    }
    EXPECT_TRUE(has_gap);
}

TEST_P(TrackerConformance, notes_that_a_stream_used_what_was_fetched_ahead_of_it) {
    TrackedScene scene(GetParam(), 2048);
    constexpr PageNumber touched = 600;
    for (PageNumber page = 0; page < touched; ++page)
        EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes)) << page;
    EXPECT_GT(scene.pages_ahead(), touched / 2);
    // The last window has had no fault behind it.
    for (PageNumber page = 0; page < touched - 2 * PageStreams::window_pages_max; ++page)
        EXPECT_FALSE(scene.take_ahead(page)) << page;
}

TEST_P(TrackerConformance, fetches_nothing_ahead_of_pages_that_are_touched_at_random) {
    TrackedScene scene(GetParam(), 1 << 14);
    acp::test::Random random(11);
    for (int i = 0; i < 64; ++i) {
        const PageNumber page = random.below(scene.count());
        EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes)) << page;
    }
    EXPECT_EQ(scene.pages_ahead(), 0U);
}

// Two threads fault on one page. The first one maps and writes it, and the kernel unmaps it, before the
// second one maps it.
TEST_P(TrackerConformance, forgets_no_write_if_a_late_thread_maps_the_page_again) {
    TrackedScene scene(GetParam(), 40);
    EXPECT_EQ(*scene.page(5), TrackedScene::initial(5 * page_bytes));
    *scene.page(5) = 'w';
    scene.swap_out();
    EXPECT_TRUE(scene.tracker().map({5, 1}, MapAs::reader).is_ok());
    EXPECT_EQ(*scene.page(5), 'w');
    EXPECT_TRUE(scene.harvest().has(5));
}

// Whole blocks are fetched for that.
TEST_P(TrackerConformance, maps_what_the_node_has_ahead_of_the_first_touch) {
    constexpr std::uint64_t block = Tracker::block_pages;
    TrackedScene scene(GetParam(), 3 * block);
    scene.bring({4, 2 * block - 4});
    EXPECT_TRUE(scene.service().map_brought({0, 2 * block + 1}).is_ok());
    const bool is_whole = scene.tracker().maps_whole_blocks();
    for (PageNumber page = 0; page < scene.count(); ++page) {
        const bool is_mapped = is_whole || (page >= 4 && page < 2 * block);
        EXPECT_EQ(scene.mapped().state(page) != MappedState::absent, is_mapped) << page;
        if (!is_mapped) continue;
        EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes));
    }
    EXPECT_EQ(scene.faults(), 0U);
    *scene.page(block + 3) = 'w';
    EXPECT_TRUE(scene.harvest().has(block + 3));
    EXPECT_EQ(*scene.page(0), TrackedScene::initial(0));
}

TEST_P(TrackerConformance, reports_a_page_that_was_read_and_then_written) {
    TrackedScene scene(GetParam(), 40);
    EXPECT_EQ(*scene.at(5 * page_bytes + 9), TrackedScene::initial(5 * page_bytes + 9));
    EXPECT_TRUE(scene.harvest().pages().empty());
    *scene.page(5) = 'w';
    *scene.page(33) = 'w';
    const PageList written = scene.harvest();
    EXPECT_TRUE(written.has(5) && written.has(33));
    EXPECT_TRUE(!is_exact() || written.pages().size() == 2);
    EXPECT_TRUE(scene.harvest().pages().empty());
    EXPECT_EQ(*scene.page(5), 'w');
    EXPECT_TRUE(scene.harvest().pages().empty());
    *scene.page(5) = 'x';
    EXPECT_TRUE(scene.harvest().has(5));
    EXPECT_EQ(scene.plain(5)[0], 'x');
}

TEST_P(TrackerConformance, finds_written_pages_of_a_range_and_leaves_them_to_the_harvest) {
    TrackedScene scene(GetParam(), 80);
    for (PageNumber page = 0; page < 80; ++page)
        EXPECT_EQ(*scene.page(page), TrackedScene::initial(page * page_bytes));
    EXPECT_TRUE(scene.harvest().pages().empty());
    for (const PageNumber page : {5U, 33U, 34U, 70U}) *scene.page(page) = 'w';
    const std::uint64_t faults = scene.faults();
    for (int i = 0; i < 2; ++i) {
        const PageList found = scene.find_written({33, 30});
        EXPECT_TRUE(found.has(33) && found.has(34));
        EXPECT_FALSE(found.has(5) || found.has(70));
        EXPECT_TRUE(!is_exact() || found.pages().size() == 2);
        *scene.page(33) = 'x';
        EXPECT_EQ(scene.faults(), 0U) << "the pages stay writable, after " << faults << " faults";
    }
    const PageList written = scene.harvest();
    for (const PageNumber page : {5U, 33U, 34U, 70U}) EXPECT_TRUE(written.has(page)) << page;
    EXPECT_TRUE(scene.find_written({0, 80}).pages().empty());
    scene.drop(33);
    EXPECT_TRUE(scene.find_written({33, 1}).pages().empty());
}

TEST_P(TrackerConformance, finds_the_own_writes_of_a_thread_beside_one_that_writes) {
    TrackedScene scene(GetParam(), 64);
    std::atomic<bool> is_over{false};
    std::thread other([&] {
        for (std::uint32_t i = 0; !is_over.load(std::memory_order_relaxed); ++i)
            *scene.page(i % 32) = static_cast<char>(i);
    });
    for (int round = 0; round < acp::test::effort(300, 20); ++round) {
        const PageNumber page = 32 + static_cast<PageNumber>(round) % 32;
        *scene.page(page) = static_cast<char>(round);
        ASSERT_TRUE(scene.find_written({32, 32}).has(page)) << round;
        (void)scene.find_written({0, 64});
    }
    is_over.store(true, std::memory_order_relaxed);
    other.join();
    const PageList written = scene.harvest();
    for (const PageNumber page : written.pages()) scene.flush(page);
    for (PageNumber page = 0; page < 64; ++page)
        EXPECT_EQ(*scene.home(page), *scene.page(page)) << page;
}

TEST_P(TrackerConformance, takes_one_fault_for_a_block_that_the_node_has) {
    TrackedScene scene(GetParam(), 40);
    for (PageNumber page = 0; page < 40; ++page) scene.make_home(page);
    for (PageNumber page = 0; page < 16; ++page) *scene.page(page) = 'w';
    EXPECT_EQ(scene.faults(), 1U);
    EXPECT_EQ(*scene.page(39), TrackedScene::initial(39 * page_bytes));
    EXPECT_EQ(scene.faults(), 1U);
}

TEST_P(TrackerConformance, reports_writes_to_homes_only_after_they_are_armed) {
    TrackedScene scene(GetParam(), 20);
    for (PageNumber page = 0; page < 20; ++page) scene.make_home(page);
    for (PageNumber page = 0; page < 18; ++page) *scene.page(page) = 'w';
    EXPECT_TRUE(scene.harvest().pages().empty());
    scene.arm_homes();
    EXPECT_TRUE(scene.harvest().pages().empty());
    *scene.page(17) = 'x';
    *scene.page(19) = 'x';
    const PageList written = scene.harvest();
    EXPECT_TRUE(written.has(17) && written.has(19));
    EXPECT_TRUE(!is_exact() || written.pages().size() == 2);
}

TEST_P(TrackerConformance, faults_on_a_dropped_page_and_finds_its_new_bytes) {
    TrackedScene scene(GetParam(), 3);
    *scene.page(1) = 'w';
    const PageList written = scene.harvest();
    for (const PageNumber page : written.pages()) scene.flush(page);
    scene.drop(1);
    EXPECT_EQ(scene.mapped().state(1), MappedState::absent);
    EXPECT_EQ(*scene.page(1), 'w');
    EXPECT_EQ(*scene.at(page_bytes + 1), TrackedScene::initial(page_bytes + 1));
    EXPECT_EQ(*scene.page(2), TrackedScene::initial(2 * page_bytes));
    EXPECT_TRUE(scene.harvest().pages().empty());
}

TEST_P(TrackerConformance, keeps_errno_in_faults) {
    TrackedScene scene(GetParam(), 20);
    errno = EDOM;
    *scene.page(18) = *scene.page(1);
    EXPECT_EQ(errno, EDOM);
}

TEST_P(TrackerConformance, reports_a_written_page_that_the_kernel_has_unmapped) {
    TrackedScene scene(GetParam(), 20);
    (void)*scene.page(7);
    *scene.page(3) = 'w';
    scene.swap_out();
    *scene.page(19) = 'x';
    EXPECT_EQ(*scene.page(3), 'w');
    scene.swap_out();
    const PageList written = scene.harvest();
    EXPECT_TRUE(written.has(3) && written.has(19));
    scene.swap_out();
    *scene.page(3) = 'y';
    EXPECT_TRUE(scene.harvest().has(3));
    EXPECT_EQ(scene.plain(3)[0], 'y');
}

TEST_P(TrackerConformance, makes_plain_memory_of_all_pages_at_its_end) {
    auto file = must(os::create_memory_file("acp-test", 20 * page_bytes));
    auto pages = must(os::Mapping::map_shared(file.get(), 20 * page_bytes));
    MappedPages<> mapped(20);
    { auto tracker = must(Tracker::start(GetParam(), {pages.data(), 20}, mapped)); }
    for (PageNumber page = 0; page < 20; ++page) {
        *static_cast<volatile char*>(pages.data() + page * page_bytes) = 'p';
    }
    EXPECT_EQ(pages.data()[19 * page_bytes], 'p');
}

TEST_P(TrackerConformance, ends_a_child_by_a_sentence) {
    const DefaultActions defaults;
    TrackedScene scene(GetParam(), 20);
    *scene.page(2) = 'w';
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    acp::test::ChildProcess child([&] {
        dup2(ends[1], STDERR_FILENO);
        return static_cast<int>(*scene.page(2));
    });
    EXPECT_EQ(child.exit_code(), 128 + SIGSEGV);
    std::array<char, 300> line{};
    ASSERT_GT(read(ends[0], line.data(), line.size() - 1), 0);
    EXPECT_NE(std::string(line.data()).find("shared page 2"), std::string::npos) << line.data();
    EXPECT_NE(std::string(line.data()).find("does not inherit"), std::string::npos);
    close(ends[0]);
    close(ends[1]);
}

// Touches all pages on a stack of 16 KiB.
inline void* touch_all(void* scene_address) {
    auto& scene = *static_cast<TrackedScene*>(scene_address);
    for (PageNumber page = 0; page < scene.count(); ++page) *scene.page(page) = *scene.page(page);
    return nullptr;
}

TEST_P(TrackerConformance, serves_threads_on_stacks_of_16_kib) {
    TrackedScene scene(GetParam(), 64);
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    alignas(64) static std::array<char, 16384> stack;
    ASSERT_EQ(pthread_attr_setstack(&attributes, stack.data(), stack.size()), 0);
    pthread_t thread{};
    ASSERT_EQ(pthread_create(&thread, &attributes, touch_all, &scene), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_EQ(scene.harvest().pages().size(), 64U);
}

// Two threads, each with every second byte, and a third one that evicts pages and lets the kernel
// unmap them.
class RandomAccesses {
public:
    RandomAccesses(TrackerKind kind, std::uint64_t seed)
        : random_(seed), scene_(kind, random_.between(1, 70)) {
        for (std::uint64_t i = 0; i < scene_.count() * page_bytes; ++i) {
            model_.push_back(TrackedScene::initial(i));
        }
        for (PageNumber page = 0; page < scene_.count(); ++page) {
            if (random_.chance(25)) scene_.make_home(page);
        }
    }

    void run() {
        for (int epoch = 0; epoch < 6; ++epoch) {
            const std::uint64_t seed = random_.next();
            std::thread second([&] { access(seed, 1); });
            std::thread evictor([&] { evict(seed); });
            access(seed, 0);
            second.join();
            evictor.join();
            if (!end_epoch()) return;
        }
    }

private:
    void access(std::uint64_t seed, std::uint64_t thread) {
        acp::test::Random random(seed + thread);
        const bool may_write = random.chance(80);
        for (int i = 0; i < 60; ++i) {
            const PageNumber page = random.below(scene_.count());
            for (std::uint64_t left = random.between(1, 4); left != 0; --left) {
                const std::uint64_t offset =
                    page * page_bytes + random.below(page_bytes / 2) * 2 + thread;
                if (may_write && random.chance(40)) {
                    model_[offset] = static_cast<char>(random.next());
                    *scene_.at(offset) = model_[offset];
                } else if (*scene_.at(offset) != model_[offset]) {
                    misreads_.fetch_add(1, std::memory_order_relaxed);  // a counter
                }
            }
        }
    }

    void evict(std::uint64_t seed) {
        acp::test::Random random(seed + 2);
        for (int i = 0; i < 20; ++i) {
            if (random.chance(20)) {
                scene_.swap_out();
            } else {
                (void)scene_.evict(random.below(scene_.count()));
            }
        }
    }

    // false after a failure.
    bool end_epoch() {
        EXPECT_EQ(misreads_.load(std::memory_order_relaxed), 0);
        const PageList written = scene_.harvest();
        EXPECT_TRUE(std::is_sorted(written.pages().begin(), written.pages().end()));
        for (const PageNumber page : written.pages()) {
            EXPECT_NE(scene_.mapped().state(page), MappedState::absent) << page;
            scene_.flush(page);
        }
        for (PageNumber page = 0; page < scene_.count(); ++page) {
            const bool is_right =
                std::memcmp(scene_.home(page), &model_[page * page_bytes], page_bytes) == 0;
            EXPECT_TRUE(is_right) << "a write to page " << page << " was lost";
            if (!is_right) return false;
        }
        for (PageNumber page = 0; page < scene_.count(); ++page) {
            if (random_.chance(20)) scene_.drop(page);
        }
        if (random_.chance(30)) scene_.arm_homes();
        return true;
    }

    acp::test::Random random_;
    TrackedScene scene_;
    std::vector<char> model_;
    std::atomic<int> misreads_{0};
};

TEST_P(TrackerConformance, loses_no_write_of_random_accesses_beside_evictions_and_swapping) {
    const acp::test::ScopedWatchdog watchdog("random accesses to tracked pages");
    const std::uint64_t first_seed = acp::test::fresh_seed();
    const std::uint64_t seeds = acp::test::effort(150, 10);
    for (std::uint64_t seed = first_seed; seed != first_seed + seeds; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        RandomAccesses(GetParam(), seed).run();
        if (HasFailure()) return;
    }
}

}  // namespace acp::dsm::test
