// SPDX-License-Identifier: BSD-3-Clause
// The doorbells: no ring is lost, also after the death of either side, and data published before a
// ring is seen.
#include "sync/doorbell_bitmap.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

#include "support/interleave.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

using Bitmap = DoorbellBitmap<sched::Atomic>;

constexpr std::uint32_t producers = 3;
// rings of each producer, each of another bell
constexpr std::uint32_t rings = 4;

// Two of a producer's bells share a word with other producers, two lie elsewhere.
constexpr std::uint32_t bell_of(std::uint32_t producer, std::uint32_t ring) {
    return ring < 2 ? ring * 8 + producer : (producer + 1) * 320 + ring * 5 - 1 - ring;
}

// Fiber 0 is the consumer, fiber 1 + p producer p.
struct Scene {
    Bitmap bitmap;
    std::array<int, doorbell_bits_max> data{};
    std::array<int, doorbell_bits_max> heard{};

    void produce(std::uint32_t producer) {
        for (std::uint32_t ring = 0; ring < rings; ++ring) {
            const std::uint32_t bell = bell_of(producer, ring);
            sched::note_write(&data[bell]);
            if (bitmap.set(bell)) sched::wake_all(&bitmap.word());
        }
    }

    void hear(std::uint32_t bell) {
        sched::note_read(&data[bell]);
        ++heard[bell];
    }

    [[nodiscard]] bool has_heard(std::uint32_t producer) const {
        for (std::uint32_t ring = 0; ring < rings; ++ring) {
            if (heard[bell_of(producer, ring)] == 0) return false;
        }
        return true;
    }

    // Consumes until all rings of all producers but `ignored` (none, if it is `producers`) have
    // arrived. Sleeps when idle.
    void consume(std::uint32_t ignored) {
        const auto is_through = [&] {
            for (std::uint32_t p = 0; p < producers; ++p) {
                if (p != ignored && !has_heard(p)) return false;
            }
            return true;
        };
        while (!is_through()) {
            // The summary may name words that a killed producer left empty.
            if (bitmap.take_all([this](std::uint32_t bell) { hear(bell); }) != 0) continue;
            if (bitmap.announce_sleep()) {
                sched::sleep_while_is(bitmap.word(), Bitmap::asleep_value);
            }
        }
    }

    // Takes every word, as a new consumer does after a death.
    void look_at_every_word() {
        for (std::uint32_t word = 0; word < doorbell_words; ++word) {
            for (std::uint64_t bits = bitmap.take(word); bits != 0; bits &= bits - 1) {
                hear(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
            }
        }
    }

    void expect_nothing_twice() const {
        EXPECT_EQ(std::count_if(heard.begin(), heard.end(), [](int n) { return n > 1; }), 0);
    }

    sched::Outcome run(const sched::Options& options, std::uint32_t ignored) {
        return sched::run(options, {[=, this] { consume(ignored); }, [this] { produce(0); },
                                    [this] { produce(1); }, [this] { produce(2); }});
    }
};

TEST(DoorbellBitmap, takes_every_bell_once_with_its_announcement) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(scene.run({.seed = seed}, producers).failure, "");
        EXPECT_EQ(std::count(scene.heard.begin(), scene.heard.end(), 1), producers * rings);
        scene.expect_nothing_twice();
    });
}

TEST(DoorbellBitmap, takes_the_other_bells_when_a_producer_ends_anywhere) {
    sched::for_each_death(1, 300, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome = scene.run(options, 0);
        EXPECT_EQ(outcome.failure, "");
        EXPECT_TRUE(scene.has_heard(1) && scene.has_heard(2));
        scene.look_at_every_word();
        if (options.is_victim_resumed) {
            EXPECT_TRUE(scene.has_heard(0));
        }
        scene.expect_nothing_twice();
        return outcome.is_victim_hit;
    });
}

TEST(DoorbellBitmap, never_makes_producers_wait_for_a_consumer_that_ends_anywhere) {
    sched::for_each_death(0, 300, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome = scene.run(options, producers);
        EXPECT_EQ(outcome.failure, "");
        scene.look_at_every_word();
        scene.expect_nothing_twice();
        // A killed consumer loses at most the bells of the one word that it had taken.
        if (options.is_victim_resumed) {
            EXPECT_TRUE(scene.has_heard(0) && scene.has_heard(1) && scene.has_heard(2));
        }
        return outcome.is_victim_hit;
    });
}

// One bell rung many times, each time for a newer number.
struct Repeater {
    static constexpr std::uint32_t bell = 77;
    static constexpr std::uint32_t last = 5;

    Bitmap bitmap;
    sched::Atomic<std::uint32_t> announced;

    void produce() {
        for (std::uint32_t i = 1; i <= last; ++i) {
            // relaxed: the ring publishes it.
            announced.store(i, std::memory_order_relaxed);
            if (bitmap.set(bell)) sched::wake_all(&bitmap.word());
        }
    }

    void consume() {
        std::uint32_t seen = 0;
        while (seen < last) {
            const std::uint32_t count = bitmap.take_all([&](std::uint32_t rung) {
                EXPECT_EQ(rung, bell);
                seen = announced.load(std::memory_order_relaxed);
            });
            if (count == 0 && bitmap.announce_sleep()) {
                sched::sleep_while_is(bitmap.word(), Bitmap::asleep_value);
            }
        }
    }
};

TEST(DoorbellBitmap, takes_the_last_of_many_rings_of_one_bell) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Repeater scene;
        const sched::Outcome outcome =
            sched::run({.seed = seed}, {[&] { scene.consume(); }, [&] { scene.produce(); }});
        EXPECT_EQ(outcome.failure, "");
    });
}

TEST(DoorbellBitmap, wakes_its_consumer_for_a_watcher_without_a_ring) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Bitmap bitmap;
        sched::Atomic<std::uint32_t> dead;
        const auto consume = [&] {
            while (dead.load(std::memory_order_acquire) == 0) {
                if (!bitmap.announce_sleep()) continue;
                if (dead.load(std::memory_order_acquire) != 0) return;
                sched::sleep_while_is(bitmap.word(), Bitmap::asleep_value);
            }
        };
        const auto watch = [&] {
            dead.store(1, std::memory_order_release);
            bitmap.clear_sleep();
            sched::wake_all(&bitmap.word());
        };
        EXPECT_EQ(sched::run({.seed = seed}, {consume, watch}).failure, "");
    });
}

TEST(DoorbellBitmap, reaches_from_the_first_to_the_last_bell) {
    DoorbellBitmap<> bitmap;
    EXPECT_TRUE(bitmap.is_silent());
    std::vector<std::uint32_t> expected;
    for (std::uint32_t bell = 0; bell < doorbell_bits_max; ++bell) {
        EXPECT_FALSE(bitmap.set(bell));
        expected.push_back(bell);
    }
    EXPECT_FALSE(bitmap.is_silent());
    std::vector<std::uint32_t> heard;
    EXPECT_EQ(bitmap.take_all([&](std::uint32_t bell) { heard.push_back(bell); }), 1024U);
    EXPECT_EQ(heard, expected);
    EXPECT_EQ(bitmap.take_all([](std::uint32_t) { FAIL() << "nothing rang"; }), 0U);
    EXPECT_TRUE(bitmap.is_silent());
}

TEST(DoorbellBitmap, shows_ringers_a_sleeping_consumer_until_it_takes) {
    DoorbellBitmap<> bitmap;
    EXPECT_TRUE(bitmap.announce_sleep());
    EXPECT_TRUE(bitmap.is_silent());
    EXPECT_TRUE(bitmap.set(3));
    EXPECT_TRUE(bitmap.set(900)) << "the first ringer may have died before it woke the consumer";
    EXPECT_FALSE(bitmap.announce_sleep());
    EXPECT_EQ(bitmap.take_all([](std::uint32_t) {}), 2U);
    EXPECT_FALSE(bitmap.set(3));
    EXPECT_FALSE(bitmap.clear_sleep());
}

constexpr std::uint32_t senders = 3;
constexpr std::uint64_t last_number = 20'000;

// Announces rising numbers, each by a ring of the sender's bell.
void send_numbers(DoorbellBitmap<>& bitmap,
                  std::atomic<std::uint64_t>& announced,
                  std::uint32_t sender) {
    for (std::uint64_t i = 1; i <= last_number; ++i) {
        announced.store(i, std::memory_order_relaxed);
        bitmap.set(sender * 40);
    }
}

TEST(DoorbellBitmap, keeps_its_promises_among_real_threads) {
    const test::ScopedWatchdog watchdog("DoorbellBitmap among real threads");
    auto bitmap = std::make_unique<DoorbellBitmap<>>();
    std::array<std::atomic<std::uint64_t>, senders> announced{};
    std::vector<std::thread> threads;
    for (std::uint32_t s = 0; s < senders; ++s) {
        threads.emplace_back([&, s] { send_numbers(*bitmap, announced[s], s); });
    }
    // Ends only when the last ring of each sender has arrived.
    std::array<std::uint64_t, senders> seen{};
    while (std::count(seen.begin(), seen.end(), last_number) < senders) {
        const std::uint32_t heard = bitmap->take_all([&](std::uint32_t bell) {
            seen[bell / 40] = announced[bell / 40].load(std::memory_order_relaxed);
        });
        if (heard == 0) std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(bitmap->take_all([](std::uint32_t) {}), senders);
}

// namespace acp::sync
}  // namespace
}  // namespace acp::sync
