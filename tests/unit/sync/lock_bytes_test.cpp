// SPDX-License-Identifier: BSD-3-Clause
// Bytes that travel with a lock: each holder reads the last publication, whole, whichever thread dies
// at whichever store.
#include "sync/lock_bytes.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

#include "unit/sync/lock_scene.hpp"

namespace acp::sync::test {
namespace {

// A record with its slots.
template <template <class> class Atomic>
struct RecordRoom {
    static constexpr std::uint64_t bytes = 100;
    static_assert(LockBytes<Atomic>::record_bytes(bytes) == 64 + 2 * 128);

    LockBytesHead<Atomic> head;
    std::array<std::byte, 256> slots{};

    [[nodiscard]] LockBytes<Atomic> record() { return {head, bytes}; }
};

TEST(LockBytesTest, the_newest_publication_is_read_and_the_one_before_stays_until_it_is_whole) {
    RecordRoom<std::atomic> room;
    std::array<std::byte, 100> bytes{};
    for (int i = 1; i < 6; ++i) {
        bytes.fill(std::byte(i));
        room.record().publish(bytes);
        std::array<std::byte, 100> seen{};
        room.record().read(seen);
        EXPECT_EQ(seen, bytes);
        if (i == 1) continue;
        const std::byte* const before = room.slots.data() + (i - 1) % 2 * 128;
        EXPECT_TRUE(
            std::all_of(before, before + 100, [i](auto b) { return b == std::byte(i - 1); }));
    }
    EXPECT_EQ(room.head.version.load(), 5U);
}

// Holders publish the number of sections before they release the lock, and one is killed at each
// operation: the next holder reads what the last one published.
TEST(LockBytesTest, a_holder_that_is_killed_leaves_the_last_publication) {
    constexpr std::uint32_t victim = 1;
    sched::for_each_death(static_cast<int>(victim), seeds_of_death, [&](sched::Options options) {
        LockScene scene;
        RecordRoom<sched::Atomic> room;
        std::uint64_t published = 0;
        std::string wrong;
        const auto work = [&](std::uint32_t process) {
            for (std::uint32_t round = 0; round < rounds; ++round) {
                LockAnswer answer = scene.take(process);
                scene.notify(answer.grant);
                if (answer.outcome == LockOutcome::queued)
                    answer = scene.wait(LockScene::party(process), answer.ticket, false);
                std::array<std::byte, 100> bytes{};
                room.record().read(bytes);
                const auto first = std::to_integer<std::uint64_t>(bytes[0]);
                const bool is_whole =
                    std::all_of(bytes.begin(), bytes.end(), [&](auto b) { return b == bytes[0]; });
                // A victim that is killed during its release has published, or not; no store orders that.
                const bool may_lack_one = answer.outcome == LockOutcome::taken_from_dead;
                if (!is_whole || (first != published && first != published + 1 &&
                                  !(may_lack_one && first + 1 == published))) {
                    wrong =
                        "section " + std::to_string(published) + " reads " + std::to_string(first);
                }
                sched::pause();
                bytes.fill(std::byte(first + 1));
                LockAnswer released;
                do {
                    released = scene.lock().release(LockScene::party(process), scene.gone(), [&] {
                        room.record().publish(bytes);
                        published = first + 1;
                    });
                    scene.notify(released.grant);
                } while (released.outcome == LockOutcome::again);
            }
        };
        if (!options.is_victim_resumed)
            options.on_stall = [&scene] { scene.announce_death(victim); };
        std::vector<std::function<void()>> fibers;
        for (std::uint32_t process = 0; process < LockScene::processes; ++process)
            fibers.emplace_back([&work, process] { work(process); });
        const auto outcome = sched::run(options, fibers);
        EXPECT_EQ(outcome.failure, "");
        EXPECT_EQ(wrong, "");
        return outcome.is_victim_hit;
    });
}

}  // namespace
}  // namespace acp::sync::test
