// SPDX-License-Identifier: BSD-3-Clause
// Leases under the seeded scheduler: no two holders write at once, no written unit is lost when a
// lease is revoked, and overwritten words change neither.
#include "sync/lease.hpp"

#include <array>
#include <gtest/gtest.h>

#include "support/interleave.hpp"
#include "support/random.hpp"

namespace acp::sync {
namespace {

namespace sched = test::sched;

constexpr std::uint64_t seeds = 5'000;
constexpr std::uint64_t here = 17;

struct SchedFence {
    static void order() noexcept { sched::fence(); }
};

using SchedLease = WriteLease<sched::Atomic, SchedFence>;
using Fence = SchedLease::Fence;

struct Plan {
    Fence fence = Fence::by_each;
    bool is_counting = false;  // holders write as a gateway does
    int turns = 3;             // turns of each holder
};

// Two holders write units, one at a time, which the owner consumes; the owner revokes the lease
// whenever it can.
struct Scene {
    explicit Scene(const Plan& its_plan) : plan(its_plan) { lease.make_free(generation); }

    void write() {
        sched::note_write(&place);
        most_inside = std::max(most_inside, ++inside);
        (void)step.load(std::memory_order_relaxed);
        ++place;
        units.fetch_add(1, std::memory_order_release);
        --inside;
    }

    LeaseEntry try_to_write(LeaseState mine, std::uint32_t holder, std::uint64_t& written) {
        WriterNote<sched::Atomic>& note = notes.at(holder);
        const LeaseEntry entry = lease.enter(mine, note, here, plan.fence);
        if (entry != LeaseEntry::open) return entry;
        write();
        ++written;
        plan.is_counting ? lease.leave_counting(note, 1) : lease.leave(note, written);
        // The holder also writes to another place.
        note.begin(here + 1);
        note.end();
        return entry;
    }

    void hold(std::uint32_t holder) {
        LeaseState mine;
        std::uint64_t written = 0;
        for (int turn = 0; turn < plan.turns;) {
            sched::pause();
            if (!mine.is_sound()) {
                mine = lease.take(holder);
                written = 0;
                continue;
            }
            const LeaseEntry entry = try_to_write(mine, holder, written);
            if (entry == LeaseEntry::open) ++turn;
            if (entry == LeaseEntry::revoked) mine = {};
        }
        over.fetch_add(1, std::memory_order_release);
    }

    // Revokes the lease, if that is possible now.
    bool revoke() {
        const LeaseState from = lease.state();
        if (from.kind() == LeaseKind::free || !lease.begin_revoke(from, generation)) return false;
        plan.fence == Fence::by_owner ? sched::fence_all() : sched::fence();
        if (notes.at(from.holder()).says(here) || !lease.is_used_up(used)) {
            lease.give_back(generation, from.holder());
            return false;
        }
        sched::note_write(&place);
        used_in_all += used;
        used = 0;
        lease.make_free(++generation);
        return true;
    }

    // Consumes the written units, all or a part.
    void own() {
        while (over.load(std::memory_order_acquire) < 2) {
            sched::pause();
            if (used_in_all + used < units.load(std::memory_order_acquire)) ++used;
            revocations += revoke() ? 1 : 0;
        }
    }

    Plan plan;
    LeaseWords<sched::Atomic> words;
    SchedLease lease{words};
    std::uint32_t generation = 5;
    std::uint64_t place = 0;
    std::uint64_t used = 0;
    std::uint64_t used_in_all = 0;
    int inside = 0;
    int most_inside = 0;
    int revocations = 0;
    std::array<WriterNote<sched::Atomic>, 3> notes;
    sched::Atomic<std::uint64_t> units;
    sched::Atomic<std::uint32_t> over;
    sched::Atomic<std::uint32_t> step;
};

void run_all(const Plan& plan) {
    std::uint64_t revocations = 0;
    sched::for_each_seed(seeds, [&](std::uint64_t seed) {
        Scene scene(plan);
        const auto outcome = sched::run(
            {.seed = seed}, {[&] { scene.hold(1); }, [&] { scene.hold(2); }, [&] { scene.own(); }});
        ASSERT_EQ(outcome.failure, "");
        ASSERT_EQ(scene.most_inside, 1);
        ASSERT_EQ(scene.place, 6U);
        ASSERT_LE(scene.used_in_all, 6U) << "a lease was taken back with more than was written";
        revocations += static_cast<std::uint64_t>(scene.revocations);
    });
    EXPECT_GT(revocations, 0U);
}

TEST(Lease, has_one_writer_at_a_time_and_is_taken_back_with_all_used_up) {
    run_all({.fence = Fence::by_each});
}

TEST(Lease, is_taken_back_by_a_barrier_of_the_owner_alone) {
    run_all({.fence = Fence::by_owner});
}

TEST(Lease, is_written_by_gateways_that_count_for_its_holder) {
    run_all({.fence = Fence::by_each, .is_counting = true});
}

constexpr auto by_each = WriteLease<>::Fence::by_each;

TEST(Lease, is_not_taken_back_before_all_is_used_up) {
    LeaseWords<> its;
    WriteLease<> lease(its);
    WriterNote<> note;
    lease.make_free(7);
    const LeaseState mine = lease.take(3);
    ASSERT_TRUE(mine.is_sound());
    EXPECT_EQ(mine.holder(), 3U);
    EXPECT_EQ(mine.generation(), 7U);
    EXPECT_FALSE(lease.take(4).is_sound()) << "it is held";
    ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
    ASSERT_TRUE(lease.begin_revoke(lease.state(), 7));
    EXPECT_TRUE(note.says(here)) << "the holder writes";
    lease.leave(note, 5);
    EXPECT_FALSE(note.says(here));
    EXPECT_FALSE(lease.is_used_up(4));
    EXPECT_TRUE(lease.is_used_up(5));
    EXPECT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::not_now);
    lease.give_back(7, 3);
    EXPECT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
    lease.leave(note, 5);
    ASSERT_TRUE(lease.begin_revoke(lease.state(), 7));
    lease.make_free(8);
    EXPECT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::revoked);
    EXPECT_FALSE(note.says(here));
}

TEST(Lease, with_a_nonsense_state_belongs_to_its_holder_until_the_owner_has_decided) {
    test::Random random(3);
    for (int i = 0; i < 10'000; ++i) {
        LeaseWords<> its;
        WriteLease<> lease(its);
        WriterNote<> note;
        lease.make_free(7);
        const LeaseState mine = lease.take(3);
        auto* const words = reinterpret_cast<std::uint64_t*>(&its);
        words[0] =
            random.chance(50) ? words[0] ^ std::uint64_t{1} << random.below(64) : random.next();
        ASSERT_FALSE(lease.state().is_sound());
        ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::not_now);
        ASSERT_FALSE(lease.take(4).is_sound());
        if (random.chance(50)) {
            lease.mend(lease.state(), 7, 3);
            ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
            continue;
        }
        ASSERT_TRUE(lease.begin_revoke(lease.state(), 7));
        ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::not_now);
        ASSERT_EQ(lease.state().holder(), 3U) << "the holder has published its process";
        ASSERT_TRUE(lease.is_used_up(0));
        lease.make_free(8);
        ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::revoked);
    }
}

TEST(Lease, whose_count_was_overwritten_is_not_revoked_until_the_holder_writes_it_again) {
    LeaseWords<> its;
    WriteLease<> lease(its);
    WriterNote<> note;
    lease.make_free(7);
    const LeaseState mine = lease.take(3);
    ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
    lease.leave(note, 9);
    auto* const words = reinterpret_cast<std::uint64_t*>(&its);
    for (const int which : {1, 2}) {
        const std::uint64_t kept = words[which];
        for (std::uint64_t value = 0; value < 100; ++value) {
            if (value == kept) continue;
            words[which] = value;
            for (std::uint64_t used = 0; used < 100; ++used) ASSERT_FALSE(lease.is_used_up(used));
        }
        words[which] = kept;
    }
    words[1] = 4711;
    ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
    lease.leave_counting(note, 1);
    EXPECT_FALSE(lease.is_used_up(4712))
        << "a thread that enters to count does not know the bytes used";
    ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
    lease.leave(note, 9);
    EXPECT_TRUE(lease.is_used_up(9));
    ASSERT_EQ(lease.enter(mine, note, here, by_each), LeaseEntry::open);
    lease.leave_counting(note, 2);
    EXPECT_TRUE(lease.is_used_up(11));
}

TEST(WriterNote, with_one_overwritten_word_still_names_the_place_of_its_writer) {
    for (const int which : {0, 1}) {
        WriterNote<> note;
        note.begin(here);
        reinterpret_cast<std::uint64_t*>(&note)[which] = 0;
        EXPECT_TRUE(note.says(here));
        note.end();
        EXPECT_FALSE(note.says(here));
    }
}

TEST(LeaseState, that_is_random_or_one_bit_off_is_not_sound) {
    test::Random random(11);
    for (std::uint32_t i = 0; i < 10'000; ++i) {
        const std::uint32_t holder = i * 97 % LeaseState::holder_max;
        const LeaseState state(LeaseKind::held, i % LeaseState::generations, holder, 3);
        ASSERT_TRUE(state.is_sound());
        ASSERT_EQ(state.generation(), i % LeaseState::generations);
        ASSERT_EQ(state.holder(), holder);
        ASSERT_FALSE(LeaseState(state.word(), 4).is_sound()) << "of another lease";
        for (unsigned bit = 0; bit < 64; ++bit)
            ASSERT_FALSE(LeaseState(state.word() ^ std::uint64_t{1} << bit, 3).is_sound()) << i;
        ASSERT_FALSE(LeaseState(random.next(), 3).is_sound());
    }
    EXPECT_FALSE(LeaseState().is_sound());
}

// namespace acp::sync
}  // namespace
}  // namespace acp::sync
