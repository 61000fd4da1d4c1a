// SPDX-License-Identifier: BSD-3-Clause
// The inbox: every message arrives once and in its producer's order, also after the death of either
// side.
#include "sync/inbox.hpp"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "support/interleave.hpp"
#include "support/scoped_watchdog.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

constexpr std::uint32_t producers = 3;
constexpr std::uint32_t messages = 4;  // messages of each producer

// Cells belong to producer p: 1 + p * messages ... Fiber 0 is the consumer, fiber 1 + p producer p.
struct Scene {
    Inbox<sched::Atomic> inbox;
    std::array<sched::Atomic<std::uint32_t>, 1 + producers * messages> links;
    std::array<std::uint32_t, 1 + producers * messages> payload{};
    std::vector<std::uint32_t> received;

    sched::Atomic<std::uint32_t>& link(std::uint32_t index) { return links[index]; }

    [[nodiscard]] auto links_of_cells() {
        return [this](std::uint32_t index) -> auto& {
            return link(index);
        };
    }

    void produce(std::uint32_t producer) {
        for (std::uint32_t i = 0; i < messages; ++i) {
            const std::uint32_t index = 1 + producer * messages + i;
            sched::note_write(&payload[index]);
            payload[index] = index * 3;
            if (inbox.push(index, links_of_cells()).is_consumer_asleep) {
                sched::wake_all(&inbox.word());
            }
        }
    }

    std::uint32_t take() {
        std::uint32_t index = inbox.take_all();
        index = Inbox<sched::Atomic>::oldest_first(index, links_of_cells());
        std::uint32_t count = 0;
        for (; index != 0; ++count) {
            sched::note_read(&payload[index]);
            EXPECT_EQ(payload[index], index * 3);
            received.push_back(index);
            index = link(index).load(std::memory_order_relaxed);
        }
        return count;
    }

    [[nodiscard]] std::uint32_t received_of(std::uint32_t producer) const {
        std::uint32_t count = 0;
        for (const std::uint32_t index : received) count += (index - 1) / messages == producer;
        return count;
    }

    // Consumes until all producers but one (or none: producers) are through, sleeping when idle.
    void consume(std::uint32_t ignored) {
        const auto is_through = [&] {
            for (std::uint32_t p = 0; p < producers; ++p) {
                if (p != ignored && received_of(p) < messages) return false;
            }
            return true;
        };
        while (!is_through()) {
            if (take() != 0 || !inbox.announce_sleep()) continue;
            sched::sleep_while_is(inbox.word(), Inbox<sched::Atomic>::asleep_value);
        }
    }

    sched::Outcome run(const sched::Options& options, std::uint32_t ignored) {
        return sched::run(options, {[=, this] { consume(ignored); }, [this] { produce(0); },
                                    [this] { produce(1); }, [this] { produce(2); }});
    }

    // Expects each message once, and each producer's messages in order and without a gap.
    void expect_order() const {
        std::array<std::uint32_t, producers> next{};
        for (const std::uint32_t index : received) {
            const std::uint32_t producer = (index - 1) / messages;
            EXPECT_EQ((index - 1) % messages, next[producer]++);
        }
    }
};

TEST(Inbox, delivers_every_message_once_in_its_producers_order) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Scene scene;
        EXPECT_EQ(scene.run({.seed = seed}, producers).failure, "");
        EXPECT_EQ(scene.received.size(), producers * messages);
        scene.expect_order();
    });
}

TEST(Inbox, delivers_the_others_messages_when_a_producer_ends_anywhere) {
    sched::for_each_death(1, 300, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome = scene.run(options, 0);
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(scene.received_of(1), messages);
        EXPECT_EQ(scene.received_of(2), messages);
        scene.take();  // takes the victim's last message
        scene.expect_order();
        if (options.is_victim_resumed) {
            EXPECT_EQ(scene.received_of(0), messages);
        }
        return outcome.is_victim_hit;
    });
}

TEST(Inbox, never_makes_producers_wait_for_a_consumer_that_ends_anywhere) {
    sched::for_each_death(0, 300, [](const sched::Options& options) {
        Scene scene;
        const sched::Outcome outcome = scene.run(options, producers);
        EXPECT_EQ(outcome.failure, "");
        if (options.is_victim_resumed) {
            EXPECT_EQ(scene.received.size(), producers * messages);
        }
        scene.expect_order();
        return outcome.is_victim_hit;
    });
}

TEST(Inbox, wakes_its_consumer_for_a_watcher_without_a_message) {
    sched::for_each_seed(10'000, [](std::uint64_t seed) {
        Scene scene;
        sched::Atomic<std::uint32_t> dead;
        const auto consume = [&] {
            while (dead.load(std::memory_order_acquire) == 0) {
                if (!scene.inbox.announce_sleep()) continue;
                if (dead.load(std::memory_order_acquire) != 0) return;
                sched::sleep_while_is(scene.inbox.word(), Inbox<sched::Atomic>::asleep_value);
            }
        };
        const auto watch = [&] {
            dead.store(1, std::memory_order_release);
            scene.inbox.clear_sleep();
            sched::wake_all(&scene.inbox.word());
        };
        EXPECT_EQ(sched::run({.seed = seed}, {consume, watch}).failure, "");
    });
}

struct Cells {
    std::vector<std::atomic<std::uint32_t>> links;

    explicit Cells(std::size_t count) : links(count + 1) {}

    auto accessor() {
        return [this](std::uint32_t index) -> auto& {
            return links[index];
        };
    }
};

TEST(Inbox, returns_whether_it_was_empty_and_whether_its_consumer_sleeps) {
    Inbox<> inbox;
    Cells cells(3);
    EXPECT_TRUE(inbox.is_empty());
    EXPECT_EQ(inbox.take_all(), 0U);
    EXPECT_TRUE(inbox.push(1, cells.accessor()).was_empty);
    EXPECT_FALSE(inbox.announce_sleep()) << "there is something to take";
    EXPECT_FALSE(inbox.push(2, cells.accessor()).was_empty);
    EXPECT_EQ(inbox.take_all(), 2U);
    EXPECT_TRUE(inbox.announce_sleep());
    EXPECT_TRUE(inbox.announce_sleep()) << "still asleep";
    EXPECT_TRUE(inbox.is_empty());
    const auto pushed = inbox.push(3, cells.accessor());
    EXPECT_TRUE(pushed.was_empty);
    EXPECT_TRUE(pushed.is_consumer_asleep);
    EXPECT_TRUE(inbox.push(1, cells.accessor()).is_consumer_asleep) << "until it takes";
    EXPECT_EQ(inbox.take_all(), 1U);
    EXPECT_FALSE(inbox.push(2, cells.accessor()).is_consumer_asleep);
}

TEST(Inbox, carries_the_largest_index) {
    Inbox<> inbox;
    std::atomic<std::uint32_t> link{0};
    const auto accessor = [&](std::uint32_t) -> auto& {
        return link;
    };
    constexpr std::uint32_t largest = (1U << 31) - 1;
    EXPECT_TRUE(inbox.announce_sleep());
    inbox.push(largest, accessor);
    EXPECT_EQ(inbox.take_all(), largest);
}

TEST(Inbox, keeps_its_promises_among_real_threads) {
    const test::ScopedWatchdog watchdog("Inbox keeps its promises among real threads");
    constexpr std::uint32_t each = 20'000;
    constexpr std::uint32_t senders = 3;
    Inbox<> inbox;
    Cells cells(each * senders);
    std::vector<std::thread> threads;
    for (std::uint32_t s = 0; s < senders; ++s) {
        threads.emplace_back([&, s] {
            for (std::uint32_t i = 0; i < each; ++i) {
                inbox.push(1 + s * each + i, cells.accessor());
            }
        });
    }
    std::array<std::uint32_t, senders> next{};
    std::uint32_t count = 0;
    bool is_ordered = true;
    while (count < each * senders) {
        std::uint32_t index = Inbox<>::oldest_first(inbox.take_all(), cells.accessor());
        if (index == 0) std::this_thread::yield();
        for (; index != 0; ++count) {
            const std::uint32_t sender = (index - 1) / each;
            is_ordered = is_ordered && (index - 1) % each == next[sender]++;
            index = cells.links[index].load(std::memory_order_relaxed);
        }
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(is_ordered);
    EXPECT_EQ(inbox.take_all(), 0U);
}

// namespace acp::sync
}  // namespace
}  // namespace acp::sync
