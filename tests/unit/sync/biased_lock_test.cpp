// SPDX-License-Identifier: BSD-3-Clause
// The biased lock: no two threads have it at once, whichever thread has adopted it and whenever
// other threads take it.
#include "sync/biased_lock.hpp"

#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>

#include "support/interleave.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t seeds = 20'000;

struct SchedPlatform {
    template <typename T>
    using Atomic = sched::Atomic<T>;

    class Mutex {
    public:
        void lock() noexcept {
            while (!try_lock()) sched::pause();
        }

        bool try_lock() noexcept { return word_.exchange(1, std::memory_order_acquire) == 0; }

        void unlock() noexcept { word_.store(0, std::memory_order_release); }

    private:
        sched::Atomic<std::uint64_t> word_;
    };

    static std::uint64_t self() noexcept { return 2 + sched::current_fiber(); }

    static void expedite() noexcept { sched::fence_all(); }

    static void pause() noexcept { sched::pause(); }
};

struct Scene {
    BiasedLock<SchedPlatform> lock;
    std::uint64_t value = 0;  // plain data: the scheduler reports a race on it
    int inside = 0;
    int most_inside = 0;
    // a step in the middle, at which the scheduler may switch fibers
    sched::Atomic<std::uint64_t> place;

    void use(bool adopts) {
        if (adopts) lock.adopt();
        sched::note_read(&value);
        most_inside = std::max(most_inside, ++inside);
        (void)place.load(std::memory_order_relaxed);
        sched::note_write(&value);
        ++value;
        --inside;
        lock.unlock();
    }

    void use_often(int times, bool adopts) {
        for (int i = 0; i < times; ++i) {
            lock.lock();
            use(adopts);
        }
    }
};

TEST(BiasedLock, is_had_by_one_thread_at_a_time) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        ASSERT_EQ(sched::run({.seed = seed},
                             {[&] { scene.use_often(4, true); }, [&] { scene.use_often(2, false); },
                              [&] { scene.use_often(2, true); }})
                      .failure,
                  "");
        ASSERT_EQ(scene.most_inside, 1);
        ASSERT_EQ(scene.value, 8U);
    });
}

TEST(BiasedLock, is_tried_without_waiting_for_the_mutex) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene;
        std::uint64_t tried = 0;
        ASSERT_EQ(sched::run({.seed = seed}, {[&] { scene.use_often(4, true); },
                                              [&] {
                                                  for (int i = 0; i < 3; ++i) {
                                                      if (!scene.lock.try_lock()) continue;
                                                      ++tried;
                                                      scene.use(false);
                                                  }
                                              }})
                      .failure,
                  "");
        ASSERT_EQ(scene.most_inside, 1);
        ASSERT_EQ(scene.value, 4U + tried);
    });
}

struct PlainPlatform {
    template <typename T>
    using Atomic = std::atomic<T>;

    class Mutex {
    public:
        void lock() noexcept {}

        bool try_lock() noexcept { return true; }

        void unlock() noexcept {}
    };

    static std::uint64_t self() noexcept { return 2; }

    static void expedite() noexcept {}

    static void pause() noexcept {}
};

TEST(BiasedLockTest, does_not_let_its_adopter_in_twice) {
    BiasedLock<PlainPlatform> lock;
    lock.lock();
    lock.adopt();
    lock.unlock();
    lock.lock();
    EXPECT_DEATH(lock.lock(), "broken invariant");
    lock.unlock();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
}

// namespace acp::sync
}  // namespace
}  // namespace acp::sync
