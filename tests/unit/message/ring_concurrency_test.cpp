// SPDX-License-Identifier: BSD-3-Clause
// Both ends of a ring at once under the seeded scheduler, whose memory is as weak as C++ allows:
// received data was published before, overwritten data was released before, neither end sleeps
// while there is a record or room for it, and damaged words between the ends lose no record.
#include <array>
#include <functional>
#include <gtest/gtest.h>

#include "ring_memory.hpp"
#include "support/interleave.hpp"

namespace acp::message {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t seeds = 3'000;
constexpr RingKey key{7};

// Payloads are plain data; one note stands for each line.
struct NotingPath : MappedPath<sched::Atomic> {
    using MappedPath<sched::Atomic>::MappedPath;

    template <typename Note>
    static void note_lines(const char* payload, std::uint64_t bytes, Note note) {
        auto at = reinterpret_cast<std::uintptr_t>(payload);
        const std::uintptr_t end = at + bytes;
        for (at -= at % line_bytes; at < end; at += line_bytes)
            note(reinterpret_cast<const char*>(at + header_bytes));
    }

    void place(std::uint64_t offset, const void* source, std::uint64_t bytes) const {
        MappedPath::place(offset, source, bytes);
        note_lines(room(offset), bytes, [](const char* line) { sched::note_write(line); });
    }
};

struct Plan {
    std::uint64_t records = 12;
    std::uint64_t bytes_max = RingShape(1024).payload_bytes_max();
    bool do_sleep = false;
    bool is_damaged = false;
};

struct Scene {
    explicit Scene(const Plan& its_plan) : plan(its_plan) { (void)receiver.open(key); }

    [[nodiscard]] NotingPath path(NotingPath::PeerBell& peer) const {
        return {pages.data(), peer, NotingPath::Fence::by_each};
    }

    // Returns when `is_there` is true: polls, or sleeps.
    template <typename Look>
    void wait(NotingPath::PeerBell& own, Look is_there) {
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
        RingSender<NotingPath> sender(path(receiver_bell), shape, key);
        for (std::uint64_t number = 0; number < plan.records; ++number) {
            NumberedRecord record(number, plan.bytes_max);
            record.write(content.data());
            wait(sender_bell, [&] {
                if (plan.is_damaged) sender.serve();
                const SendAttempt outcome = sender.send(content.data(), record.bytes, record.tag);
                if (outcome == SendAttempt::sent_to_sleeper) sched::wake_all(&receiver_bell.word());
                return outcome != SendAttempt::full;
            });
        }
        // The sender answers requests until the receiver has all records.
        while (plan.is_damaged && is_over.load(std::memory_order_acquire) == 0) sender.serve();
    }

    void receive_all() {
        for (; received < plan.records; ++received) {
            ReceivedRecord found;
            wait(receiver_bell, [&] {
                found = receiver.receive();
                if (found.data == nullptr && (plan.is_damaged || received % 3 == 0)) {
                    receiver.recover();
                    found = receiver.receive();
                }
                return found.data != nullptr;
            });
            NotingPath::note_lines(found.data, found.bytes,
                                   [](const char* line) { sched::note_read(line); });
            wrong = NumberedRecord(received, plan.bytes_max).check(found);
            if (!wrong.empty()) break;
            if (receiver.release()) sched::wake_all(&sender_bell.word());
        }
        is_over.store(1, std::memory_order_release);
    }

    // Overwrites words. All records have one line here, so that each line begins with a header.
    void damage(std::uint64_t seed) {
        test::Random random(seed);
        for (int i = 0; i < 20; ++i) {
            const std::uint64_t line = random.below(shape.lines());
            const std::array<std::uint64_t, 5> words = {
                shape.header_offset(line), shape.journal_offset(line), shape.credit_offset(0),
                shape.credit_offset(1), shape.request_offset()};
            auto& word = path(sender_bell).word(words[random.below(words.size())]);
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
    RingShape shape{1024};
    SharedPages pages{shape.bytes()};
    NotingPath::PeerBell sender_bell;
    NotingPath::PeerBell receiver_bell;
    RingReceiver<NotingPath> receiver{path(sender_bell), shape, key};
    std::vector<char> content = std::vector<char>(shape.payload_bytes_max());
    sched::Atomic<std::uint32_t> is_over;
    std::uint64_t received = 0;
    std::string wrong;
};

TEST(RingConcurrency, what_is_received_was_handed_over_and_what_is_overwritten_was_released) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene({.records = 30});
        scene.expect_all(sched::run({.seed = seed}, scene.fibers()));
    });
}

TEST(RingConcurrency, no_thread_sleeps_over_a_record_or_a_credit) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene({.records = 20, .do_sleep = true});
        scene.expect_all(sched::run({.seed = seed}, scene.fibers()));
    });
}

TEST(RingConcurrency, damage_at_any_moment_loses_doubles_and_reorders_nothing) {
    sched::for_each_seed(seeds, [](std::uint64_t seed) {
        Scene scene({.records = 30, .bytes_max = 56, .is_damaged = true});
        auto fibers = scene.fibers();
        fibers.emplace_back([&scene, seed] { scene.damage(seed); });
        scene.expect_all(sched::run({.seed = seed}, fibers));
    });
}

// A sender that dies before any operation: the receiver gets whole records, as many as were sent or
// one more.
TEST(RingConcurrency, a_sender_that_dies_leaves_whole_records) {
    sched::for_each_death(0, 20, [](const sched::Options& options) {
        Scene scene({.records = 6, .do_sleep = true});
        sched::Options with_watcher = options;
        with_watcher.on_stall = [&scene] {
            // Receives all records, as a receiver does after its sender's death.
            for (int look = 0; look < 2; ++look) {
                for (;; ++scene.received) {
                    const ReceivedRecord found = scene.receiver.receive();
                    if (found.data == nullptr) break;
                    scene.wrong = NumberedRecord(scene.received, scene.plan.bytes_max).check(found);
                    EXPECT_EQ(scene.wrong, "") << "record " << scene.received;
                    (void)scene.receiver.release();
                }
                scene.receiver.recover();
            }
        };
        const sched::Outcome outcome = sched::run(with_watcher, scene.fibers());
        EXPECT_EQ(scene.wrong, "");
        if (!outcome.is_victim_hit || options.is_victim_resumed) {
            EXPECT_EQ(scene.received, scene.plan.records);
        }
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::message
