// SPDX-License-Identifier: BSD-3-Clause
// A pipe beside a ring: its pieces arrive whole and in order among the records of the ring, a slot
// is not written before it is released, and neither end sleeps while there is a piece or slot for
// it. With both ends in one thread, and at once under the seeded scheduler.
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "pipe_memory.hpp"
#include "support/interleave.hpp"

namespace acp::message {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t seeds = 3'000;
constexpr RingKey key{9};

TEST(Pipe, has_room_for_as_many_pieces_as_slots_and_for_one_more_at_each_release) {
    const PipePages pages;
    MappedPath<>::PeerBell bell;
    const MappedPath<> path(pages.ring.data(), bell, MappedPath<>::Fence::by_sleeper);
    PipingSender<MappedPath<>> sender(path, pages, key);
    EXPECT_EQ(sender.pipe.reserve(), nullptr) << "the ring is not open";
    RingReceiver<MappedPath<>> receiver(path, pages.shape, key);
    (void)receiver.open(key);
    std::vector<char*> slots;
    for (std::uint64_t i = 0; i < 100; ++i) {
        char* const slot = sender.pipe.reserve();
        ASSERT_EQ(slot != nullptr, i < PipeSender<MappedPath<>>::slots || i % 2 == 1) << i;
        if (slot != nullptr) {
            (void)sender.pipe.commit(1, 1, 0);
            slots.push_back(slot);
        } else {
            ASSERT_NE(receiver.receive().data, nullptr);
            (void)release_piped(receiver);
        }
    }
    for (std::size_t i = 0; i + 1 < slots.size(); ++i) EXPECT_NE(slots[i], slots[i + 1]);
}

TEST(Pipe, pieces_are_parts_of_short_messages_and_slots_of_long_ones) {
    const PipePages pages;
    MappedPath<>::PeerBell bell;
    const MappedPath<> path(pages.ring.data(), bell, MappedPath<>::Fence::by_sleeper);
    RingSender<MappedPath<>> ring(path, pages.shape, key);
    PipeSender<MappedPath<>> pipe(ring);
    pipe.open({pages.slots.data(), 0, 32 << 10});
    EXPECT_EQ(pipe.piece_bytes(6'200), 4096U);
    EXPECT_EQ(pipe.piece_bytes(64 << 10), 16U << 10);
    EXPECT_EQ(pipe.piece_bytes((64 << 10) + 100), (16U << 10) + 64);
    EXPECT_EQ(pipe.piece_bytes(4 << 20), 32U << 10);
    pipe.open({pages.slots.data(), 0, 2048});
    EXPECT_EQ(pipe.piece_bytes(6'200), 2048U);
}

TEST(Pipe, waits_for_room_in_the_ring_too) {
    const PipePages pages;
    MappedPath<>::PeerBell bell;
    const MappedPath<> path(pages.ring.data(), bell, MappedPath<>::Fence::by_sleeper);
    RingReceiver<MappedPath<>> receiver(path, pages.shape, key);
    (void)receiver.open(key);
    PipingSender<MappedPath<>> sender(path, pages, key);
    const std::uint64_t number = 1;
    while (sender.ring.send(&number, sizeof number) != SendAttempt::full) {
    }
    EXPECT_EQ(sender.pipe.reserve(), nullptr);
    ASSERT_NE(receiver.receive().data, nullptr);
    (void)release_piped(receiver);
    EXPECT_NE(sender.pipe.reserve(), nullptr);
}

// Slots and payloads are plain data; one note stands for each line.
template <typename Note>
void note_lines(const char* data, std::uint64_t bytes, Note note) {
    const char* const end = data + bytes;
    for (; data < end; data += line_bytes) note(data);
}

struct Plan {
    std::uint64_t records = 24;
    bool do_sleep = false;
    bool is_damaged = false;
};

struct Scene {
    using Path = MappedPath<sched::Atomic>;

    explicit Scene(const Plan& its_plan) : plan(its_plan) { (void)receiver.open(key); }

    [[nodiscard]] Path path(Path::PeerBell& peer) const {
        return {pages.ring.data(), peer, Path::Fence::by_each};
    }

    // Returns when `is_there` is true: polls, or sleeps.
    template <typename Look>
    void wait(Path::PeerBell& own, Look is_there) {
        while (!is_there()) {
            sched::pause();
            if (!plan.do_sleep) continue;
            const std::uint32_t value = own.announce();
            sched::fence();
            if (is_there()) return;
            sched::sleep_while_is(own.word(), value);
        }
    }

    void send_all() {
        PipingSender<Path> sender(path(receiver_bell), pages, key);
        const auto copy = [](char* target, const char* source, std::uint64_t bytes) {
            std::memcpy(target, source, bytes);
            note_lines(target, bytes, [](const char* line) { sched::note_write(line); });
        };
        for (std::uint64_t number = 0; number < plan.records; ++number) {
            wait(sender_bell, [&] {
                if (plan.is_damaged) sender.ring.serve();
                bool is_wake_due = false;
                const bool is_sent = sender.send(number, copy, is_wake_due);
                if (is_wake_due) sched::wake_all(&receiver_bell.word());
                return is_sent;
            });
        }
        while (plan.is_damaged && is_over.load(std::memory_order_acquire) == 0) sender.ring.serve();
    }

    // Checks and releases a received record.
    bool take(ReceivedRecord found) {
        wrong = check_piped(pages, received, found);
        if (!wrong.empty()) return false;
        if (lies_in_pipe(received)) {
            // Notes the accesses that take_lines() makes to a line.
            note_lines(found.data, found.bytes, [](const char* line) { sched::note_read(line); });
            note_lines(found.data, found.bytes, [](const char* line) { sched::note_write(line); });
        }
        if (release_piped(receiver)) sched::wake_all(&sender_bell.word());
        ++received;
        return true;
    }

    void receive_all() {
        while (received < plan.records) {
            ReceivedRecord found;
            wait(receiver_bell, [&] {
                found = receiver.receive();
                if (found.data == nullptr && (plan.is_damaged || received % 3 == 0)) {
                    receiver.recover();
                    found = receiver.receive();
                }
                return found.data != nullptr;
            });
            if (!take(found)) break;
        }
        is_over.store(1, std::memory_order_release);
    }

    // Receives all records, as a receiver does after its sender's death.
    void receive_the_rest() {
        for (int look = 0; look < 2; ++look) {
            for (;;) {
                const ReceivedRecord found = receiver.receive();
                if (found.data == nullptr || !take(found)) break;
            }
            receiver.recover();
        }
    }

    // Overwrites credits, requests and journal: a record here may have several lines, so not every
    // line begins with a header.
    void damage(std::uint64_t seed) {
        test::Random random(seed);
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t words[] = {
                pages.shape.journal_offset(random.below(16)), pages.shape.credit_offset(0),
                pages.shape.credit_offset(1), pages.shape.request_offset()};
            auto& word = path(sender_bell).word(words[random.below(4)]);
            word.store(random.chance(50) ? random.next() : 0, std::memory_order_relaxed);
        }
    }

    void expect_all(const sched::Outcome& outcome) const {
        ASSERT_EQ(outcome.failure, "");
        ASSERT_EQ(wrong, "") << "record " << received;
        ASSERT_EQ(received, plan.records);
    }

    [[nodiscard]] std::vector<std::function<void()>> fibers() {
        return {[this] { send_all(); }, [this] { receive_all(); }};
    }

    Plan plan;
    PipePages pages;
    Path::PeerBell sender_bell;
    Path::PeerBell receiver_bell;
    RingReceiver<Path> receiver{path(sender_bell), pages.shape, key};
    sched::Atomic<std::uint32_t> is_over;
    std::uint64_t received = 0;
    std::string wrong;
};

TEST(PipeConcurrency, a_piece_is_read_after_it_was_written_and_before_its_slot_is_written_again) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene({});
        scene.expect_all(sched::run({.seed = seed}, scene.fibers()));
    });
}

TEST(PipeConcurrency, no_thread_sleeps_over_a_piece_or_a_slot) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene({.do_sleep = true});
        scene.expect_all(sched::run({.seed = seed}, scene.fibers()));
    });
}

TEST(PipeConcurrency, damage_at_any_moment_loses_doubles_and_reorders_nothing) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene({.is_damaged = true});
        auto fibers = scene.fibers();
        fibers.emplace_back([&scene, seed] { scene.damage(seed); });
        scene.expect_all(sched::run({.seed = seed}, fibers));
    });
}

TEST(PipeConcurrency, a_sender_that_dies_leaves_whole_pieces) {
    sched::for_each_death(0, 20, [](const sched::Options& options) {
        // So few records that no slot is used twice, because no fiber notices slots that the
        // watcher releases.
        Scene scene({.records = 5, .do_sleep = true});
        sched::Options with_watcher = options;
        with_watcher.on_stall = [&scene] { scene.receive_the_rest(); };
        const sched::Outcome outcome = sched::run(with_watcher, scene.fibers());
        EXPECT_EQ(scene.wrong, "") << "record " << scene.received;
        if (!outcome.is_victim_hit || options.is_victim_resumed) {
            EXPECT_EQ(scene.received, scene.plan.records);
        }
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::message
